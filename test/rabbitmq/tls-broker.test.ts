import assert from 'node:assert/strict';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';

import { BrokerConnection } from '../../src/adapters/rabbitmq/connection.ts';
import { parseAmqpUrls, readTlsFiles } from '../../src/adapters/rabbitmq/endpoint.ts';
import { certificateExamination } from '../../src/adapters/tls/examine-certificates.ts';
import { seededRandom } from '../../src/topology/random.ts';
import { systemClock } from '../../src/topology/system-clock.ts';
import { createAuthority, issue, type Authority } from '../support/certificates.ts';
import { canStartBroker, startBroker, type PrivateBroker } from '../support/private-broker.ts';
import { waitFor } from '../support/wait-for.ts';
import { silentLog } from './scene.ts';

const folder = mkdtempSync(join(tmpdir(), 'cardauth-tls-'));
const at = (name: string): string => join(folder, name);
/** The files that the broker and the worker read; they are replaced under both. */
const broker = { ca: at('broker-ca.pem'), cert: at('broker.pem'), key: at('broker.key') };
const worker = { ca: at('worker-ca.pem'), cert: at('worker.pem'), key: at('worker.key') };

describe('a broker with TLS', { skip: !(await canStartBroker()) }, () => {
  let authority: Authority;
  let running: PrivateBroker;
  let url: string;
  const connections: BrokerConnection[] = [];

  before(async () => {
    authority = createAuthority(folder, 'first-ca');
    copyFileSync(authority.certFile, broker.ca);
    copyFileSync(authority.certFile, worker.ca);
    serve(authority, 'server', 90);
    const own = issue(folder, authority, 'client', 30);
    copyFileSync(own.certFile, worker.cert);
    copyFileSync(own.keyFile, worker.key);
    running = await startBroker({ tls: broker });
    url = `amqps://guest:guest@localhost:${running.tlsPort}`;
  });
  after(async () => {
    await Promise.all(connections.map((connection) => connection.close()));
    await running.stop();
    rmSync(folder, { recursive: true });
  });

  function serve(by: Authority, name: string, days: number): void {
    const issued = issue(folder, by, name, days);
    copyFileSync(issued.certFile, broker.cert);
    copyFileSync(issued.keyFile, broker.key);
  }

  function connecting(files: typeof worker): BrokerConnection {
    const connection = new BrokerConnection({
      role: 'consume',
      endpoints: parseAmqpUrls(url, files),
      clock: systemClock,
      random: seededRandom(5),
      log: silentLog,
    });
    connections.push(connection);
    connection.start();
    return connection;
  }

  /** The broker reads its files again, and everybody has to connect anew. */
  async function rotate(): Promise<void> {
    await running.rabbitmqctl('eval', 'ssl:clear_pem_cache().');
    await running.rabbitmqctl('close_all_connections', 'certificates were renewed');
  }

  it('is connected to with the files that are there at that moment, through a change of all of them', async () => {
    const connection = connecting(worker);
    await waitFor('a link', () => connection.link?.epoch === 1);

    const next = createAuthority(folder, 'second-ca');
    serve(next, 'second-server', 90);
    await rotate();
    const refused = () => connection.unavailableBecause()?.includes('certificate') === true;
    await waitFor('the new certificate to be refused', refused, { timeoutMs: 20_000 });

    copyFileSync(next.certFile, worker.ca);
    await waitFor('a link by the new CA', () => connection.link?.epoch === 2, { timeoutMs: 40_000 });
    authority = next;
    await connection.close();
  });

  it('is not connected to with a file that is missing', async () => {
    const lost = connecting({ ...worker, ca: at('no-such-file.pem') });
    await waitFor('the failure', () => lost.unavailableBecause()?.includes('ENOENT'));
    assert.equal(lost.link, undefined);
  });

  async function certificate(files = worker, wallMs = Date.now(), host = 'localhost') {
    const hosts = [{ check: 'c', host, port: running.tlsPort, files: () => readTlsFiles(files) }];
    const [finding] = await certificateExamination({
      area: 'broker',
      hosts,
      clock: { wallMs: () => wallMs },
    }).examine();
    assert.ok(finding);
    return finding;
  }

  it('has a certificate whose end is seen coming', async () => {
    serve(authority, 'long-server', 90);
    await rotate();
    const good = await waitFor('the certificate', async () => {
      const finding = await certificate();
      return finding.status === 'ok' ? finding : undefined;
    });
    assert.match(good.what, /good for (89|90) more day\(s\)/);
    const late = await certificate(worker, Date.now() + 75 * 86_400_000);
    assert.deepEqual([late.status, late.remedy], ['warning', 'renew it']);
    const ip = await certificate(worker, Date.now(), '127.0.0.1');
    assert.equal(ip.status, 'ok');
  });

  it('has a certificate that is an error when it is not accepted, and is skipped when nobody answers', async () => {
    const stranger = createAuthority(folder, 'stranger');
    const untrusted = await certificate({ ...worker, ca: stranger.certFile });
    assert.equal(untrusted.status, 'error');
    assert.match(untrusted.what, /its CA is not trusted|signed by itself|UNABLE|SELF/);
    const absent = await certificate({ ...worker, ca: at('no-such-file.pem') });
    assert.match(absent.what, /a TLS file does not exist/);
    const [nobody] = await certificateExamination({
      area: 'gateway',
      hosts: [{ check: 'c', host: '127.0.0.1', port: 1, files: () => ({}) }],
      clock: systemClock,
    }).examine();
    assert.equal(nobody?.status, 'skipped');
  });
});
