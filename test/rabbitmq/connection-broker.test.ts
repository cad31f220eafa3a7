import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { after, describe, it } from 'node:test';

import { BrokerConnection } from '../../src/adapters/rabbitmq/connection.ts';
import { parseAmqpUrls } from '../../src/adapters/rabbitmq/endpoint.ts';
import { seededRandom } from '../../src/topology/random.ts';
import type { Clock } from '../../src/topology/clock.ts';
import { systemClock } from '../../src/topology/system-clock.ts';
import { canAdministerBroker, createVhost, rabbitmqctl, testServices } from '../support/services.ts';
import { connectionClose, connectionOpenOk, isMethod } from '../support/amqp-frames.ts';
import { startAmqpProxy, startProxy } from '../support/tcp-proxy.ts';
import { waitFor } from '../support/wait-for.ts';
import { silentLog } from './scene.ts';

describe('a connection to a real broker', () => {
  const { amqpUrl } = testServices();
  const connections: BrokerConnection[] = [];
  after(() => Promise.all(connections.map((connection) => connection.close())));

  function connecting(urls: string, connectTimeoutMs = 300, clock: Clock = systemClock): BrokerConnection {
    const connection = new BrokerConnection({
      role: 'consume',
      endpoints: parseAmqpUrls(urls),
      clock,
      random: seededRandom(3),
      log: silentLog,
      connectTimeoutMs,
    });
    connections.push(connection);
    connection.start();
    return connection;
  }

  it('knows the broker version', async () => {
    const connection = connecting(amqpUrl, 5_000);
    const link = await waitFor('a link', () => connection.link);
    assert.match(link.broker.version, /^\d+\.\d+/);
  });

  it('passes by a peer that accepts and never answers', async () => {
    const sockets = new Set<Socket>();
    const silent = createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
      socket.resume();
    });
    silent.listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const alone = connecting(`amqp://127.0.0.1:${port}`);
    await waitFor('the timeout', () => alone.unavailableBecause()?.includes('did not answer within 300 ms'));
    await alone.close();
    await waitFor('its sockets to be destroyed', () => sockets.size === 0);
    const either = connecting(`amqp://127.0.0.1:${port},${amqpUrl}`, 1_000);
    await waitFor('a link', () => either.link);
    silent.close();
  });

  it('outlives a broker that closes the connection in the very packet that opens it', async () => {
    const proxy = await startAmqpProxy({ target: amqpUrl });
    let closings = 0;
    proxy.rule('toClient', (frame) => {
      if (!isMethod(frame, connectionOpenOk) || closings === 2) return 'pass';
      closings += 1;
      proxy.inject('toClient', Buffer.concat([frame.bytes, connectionClose(541, 'INTERNAL_ERROR')]));
      return 'drop';
    });
    const connection = connecting(proxy.url, 5_000);
    const seen = new Set<string | undefined>();
    const link = await waitFor('a link that lives', async () => {
      seen.add(connection.unavailableBecause());
      const { link } = connection;
      const opened = await link?.openChannel();
      await opened?.close();
      return link;
    });
    assert.equal(closings, 2);
    assert.equal(link.isOpen(), true);
    assert.ok(
      [...seen].some((because) => because?.includes('541')),
      [...seen].join('; '),
    );
    await connection.close();
    await proxy.close();
  });

  it('names vhost and refusal, and never the password', async () => {
    const url = new URL(amqpUrl);
    url.pathname = '/no-such-vhost';
    const lost = connecting(url.href, 5_000);
    const vhost = await waitFor('the refusal', () => refusalOf(lost));
    assert.match(vhost, /no-such-vhost/);
    url.pathname = '/';
    url.password = 'hunter2';
    const stranger = connecting(url.href, 5_000);
    const login = await waitFor('the refusal', () => refusalOf(stranger));
    assert.match(login, /ACCESS.REFUSED/);
    assert.doesNotMatch(login, /hunter2/);
  });

  it('notices a frozen broker by its heartbeat and leaves no half-open socket', async () => {
    const proxy = await startProxy({ target: amqpUrl });
    const connection = connecting(`${proxy.url}?heartbeat=1`, 1_000);
    await waitFor('a link', () => connection.link);
    proxy.freeze();
    await waitFor('the end of the link', () => connection.link === undefined, { timeoutMs: 5_000 });
    await connection.close();
    await proxy.close();
  });

  it('leaves no socket, timer or listener behind after a hundred resets', async () => {
    const proxy = await startProxy({ target: amqpUrl });
    const warnings: Error[] = [];
    const onWarning = (warning: Error): void => void warnings.push(warning);
    process.on('warning', onWarning);
    const timersBefore = activeTimers();
    const connection = connecting(proxy.url, 3_000 * HURRY, hurriedClock);
    for (let epoch = 1; epoch <= 100; epoch++) {
      await waitFor('the next link', () => connection.link?.epoch === epoch, { intervalMs: 1 });
      proxy.cut();
    }
    await waitFor('the last link', () => connection.link?.epoch === 101);
    assert.equal(proxy.connections.open, 1);
    await connection.close();
    await waitFor('the socket to go', () => proxy.connections.open === 0);
    assert.equal(activeTimers(), timersBefore);
    // Node warns of the eleventh listener on one signal or emitter.
    assert.deepEqual(warnings, []);
    process.off('warning', onWarning);
    await proxy.close();
  });

  it(
    'reconnects after the broker closed all connections by force',
    { skip: !canAdministerBroker },
    async () => {
      const vhost = await createVhost();
      const connection = connecting(vhost.url, 5_000);
      await waitFor('a link', () => connection.link?.epoch === 1);
      await rabbitmqctl('close_all_connections', '--vhost', vhost.name, 'test');
      await waitFor('the next link', () => connection.link?.epoch === 2);
      await connection.close();
      await vhost.drop();
    },
  );
});

/** Waits that would take minutes take less than seconds; so do deadlines. */
const HURRY = 300;
const hurriedClock: Clock = {
  ...systemClock,
  setTimer: (delayMs, callback) => systemClock.setTimer(delayMs / HURRY, callback),
};

function activeTimers(): number {
  return process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
}

/** The broker's answer, not that there is none yet. */
function refusalOf(connection: BrokerConnection): string | undefined {
  const because = connection.unavailableBecause();
  return because?.startsWith('cannot connect') === true ? because : undefined;
}
