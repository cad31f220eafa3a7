/**
 * Card numbers, CVVs and secrets that exist nowhere else, sent through every kind of end: none of them may be in
 * anything that the worker prints, stores or publishes (reliability design, I19).
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { before, describe, it } from 'node:test';
import { levelQueueOf } from '../../src/adapters/rabbitmq/declare.ts';
import type { Received } from '../support/broker-client.ts';
import { waitFor } from '../support/wait-for.ts';
import { startAmqpProxy } from '../support/tcp-proxy.ts';
import { cardauth, startProcess, type WorkerProcess } from '../support/worker-process.ts';
import {
  cvvSightings,
  formsOf,
  newCardNumber,
  newSecret,
  sightings,
  sightingsInLargePlace,
  type Canary,
  type Place,
} from './canaries.ts';
import type { ParkedOrder } from './parked-orders.ts';
import { freePort, newOrderId, openStage, orderJson, suiteOwner, type Stage } from './stage.ts';

/** So long that practically every jittered wait is longer than what is held in process. */
const LEVEL_MS = 40_000_000;
const CVVS = ['739', '851', '967'] as const;

describe('canaries', { concurrency: false }, () => {
  const owner = suiteOwner();
  const canaries: Canary[] = [];
  const places: Place[] = [];
  const cardKey = { kty: 'oct', k: newCardKey() };
  let stage: Stage;

  before(async () => {
    stage = await openStage(owner);
    const healthPort = await freePort();
    const broker = await startAmqpProxy({ target: stage.broker.url });
    owner.after(() => broker.close());
    const sent: Buffer[] = [];
    broker.rule('toServer', ({ bytes }) => {
      sent.push(bytes);
      return 'pass';
    });
    const environment = {
      AMQP_URL: broker.url,
      CARDAUTH_GATEWAY_API_KEY: secret('API key', 'sk_test_canary').replaceAll(/[^\w]/g, ''),
      CARDAUTH_FINGERPRINT_KEY: secret('fingerprint key', 'fingerprint'),
      CARDAUTH_CARD_KEY: JSON.stringify(cardKey),
      CARDAUTH_RETRY_LEVELS_MS: String(LEVEL_MS),
      CARDAUTH_MAX_ATTEMPTS: '1',
      CARDAUTH_HTTP_PORT: String(healthPort),
    };
    const workers: WorkerProcess[] = [];
    for (const format of ['json', 'text']) {
      const worker = await stage.startWorker({ ...environment, LOG_FORMAT: format }, 'started');
      workers.push(worker);
      await worker.waitForLine((line) => line.text.includes('ready') && !line.text.includes('not ready'));
      await playAllEnds();
      await askHealth(healthPort);
      worker.kill('SIGTERM');
      await worker.exited;
    }
    workers.push(await shownConfiguration(environment));
    for (const [index, { lines }] of workers.entries()) {
      assert.ok(lines.length > 0 && lines.length < 5_000, 'all lines are there');
      addPlace(`output of process ${index + 1}`, lines.map(({ text }) => text).join('\n'));
    }
    addPlace('everything that the workers sent to the broker', Buffer.concat(sent));
    addPlace('notifications', stage.receipts.map(written).join('\n'));
    addPlace('database', await dump(stage));
  });

  it('are in nothing that was printed, stored, published or served', () => {
    assert.deepEqual(sightings(canaries, places), []);
  });

  it('left no CVV either', () => {
    assert.deepEqual(cvvSightings(CVVS, places), []);
  });

  it('are not in the write-ahead log', async () => {
    await stage.database.query('CHECKPOINT');
    assert.deepEqual(await inWriteAheadLog(canaries), []);
  });

  it('went all the ways, and the last four digits may be seen', async () => {
    const { rows } = await stage.database.query<{ status: string; orders: number }>(
      'select status, count(*)::int as orders from cardauth.orders group by status order by status',
    );
    const byStatus = Object.fromEntries(rows.map(({ status, orders }) => [status, orders]));
    assert.ok((byStatus['ready-to-ship'] ?? 0) >= 8, JSON.stringify(byStatus));
    assert.ok((byStatus['denied'] ?? 0) >= 6, JSON.stringify(byStatus));
    assert.ok((byStatus['review'] ?? 0) >= 2, JSON.stringify(byStatus));
    const database = places.find(({ name }) => name === 'database')?.content.toString() ?? '';
    const shown = canaries.filter(({ text }) => database.includes(`"card_last4":"${text.slice(-4)}"`));
    assert.ok(shown.length >= 16, `the last four digits of ${shown.length} cards`);
  });

  describe('that are planted are found', () => {
    const planted = { name: 'planted', text: newCardNumber() };
    const plantedSecret = { name: 'planted', text: newSecret('planted') };

    for (const [form, bytes] of [...formsOf(planted.text), ...formsOf(plantedSecret.text)]) {
      it(`written as ${form}`, () => {
        const content = Buffer.concat([Buffer.from('before '), bytes, Buffer.from(' behind')]);
        const found = sightings([planted, plantedSecret], [{ name: 'there', content }]);
        assert.ok(found.length > 0);
      });
    }

    for (const offset of [0, 1, 2, 3]) {
      it(`inside of something in base64, ${offset} bytes from its start`, () => {
        const content = Buffer.from(`${'x'.repeat(offset)}${planted.text}yz`).toString('base64');
        assert.equal(sightings([planted], [{ name: 'there', content }]).length > 0, true);
      });
    }

    it('in the database and in its write-ahead log', async () => {
      const text = newCardNumber();
      await stage.database.query('create table public.planted (note text)');
      await stage.database.query('insert into public.planted values ($1)', [`card ${text}`]);
      await stage.database.query('CHECKPOINT');
      const canary = { name: 'planted', text };
      const database = { name: 'database', content: await dump(stage) };
      assert.ok(sightings([canary], [database]).includes('database: planted (plain)'));
      assert.ok((await inWriteAheadLog([canary])).includes('write-ahead log: planted (plain)'));
    });

    it('in the body and in the headers of a message', async () => {
      const queue = `${stage.broker.prefix}.parked`;
      for (const properties of [{}, { headers: { nested: { note: planted.text } } }]) {
        const body = 'headers' in properties ? 'nothing' : `a card: ${planted.text}`;
        await stage.client.publish({ routingKey: queue, body: Buffer.from(body), properties });
        const message = await waitFor('the message', () => stage.client.take(queue));
        const found = sightings([planted], [{ name: 'message', content: written(message) }]);
        assert.ok(found.includes('message: planted (plain)'));
      }
    });

    it('as a CVV, and times are taken for none', () => {
      const cvvIn = (content: string) => cvvSightings(['739'], [{ name: 'log', content }]).length > 0;
      for (const text of [
        '{"code":"739"}',
        '{"code":739,"x":1}',
        'code=739',
        'the code 739 is',
        'cvc=739&x',
        '[739]',
      ]) {
        assert.ok(cvvIn(text), text);
      }
      for (const text of [
        '{"ageMs":739}',
        'ageMs=739',
        '"2026-01-01T00:00:00.739Z"',
        'at a (b.js:739:12)',
        '17390',
      ]) {
        assert.ok(!cvvIn(text), text);
      }
    });
  });

  /** One order for each kind of end; those that come back are helped over their long wait. */
  async function playAllEnds(): Promise<void> {
    const ids = {
      ...{ dropped: newOrderId(), garbage: newOrderId(), echo500: newOrderId(), page: newOrderId() },
      ...{ echo400: newOrderId(), wrong: newOrderId(), good: newOrderId() },
    };
    await stage.gateway.setFaults([
      { match: { orderId: ids.dropped }, fault: { kind: 'charge-then-drop' }, times: 1 },
      { match: { orderId: ids.garbage }, fault: { kind: 'garbage', where: 'body' }, times: 1 },
      { match: { orderId: ids.echo500 }, fault: { kind: 'echo-pan', status: 500 }, times: 2 },
      { match: { orderId: ids.page }, fault: { kind: 'html-502' } },
      { match: { orderId: ids.echo400 }, fault: { kind: 'echo-pan', status: 400 } },
      { match: { orderId: ids.wrong }, fault: { kind: 'wrong-amount' } },
    ]);
    const comingBack = [ids.dropped, ids.garbage, ids.echo500, ids.page];
    const good = order(ids.good, { note: cardNumber() });
    const upToTheGateway = [
      ...[...comingBack, ids.echo400, ids.wrong].map((id) => order(id)),
      good,
      order(newOrderId(), { creditCardNumber: cardNumber().replace(/(.{4})(?=.)/g, '$1 ') }),
      order(newOrderId(), { creditCardNumber: '4000000000000002' }),
      order(newOrderId(), { creditCardNumber: '4000000000009995' }),
    ];
    const atTheGate = [
      order(newOrderId(), { creditCardNumber: `${cardNumber()}x` }),
      order(newOrderId(), { creditCardCode: secret('CVV', 'cvv') }),
    ];
    const unreadable = [
      order(newOrderId(), { chargeAmount: '1.005' }),
      order(newOrderId(), { chargeAmount: cardNumber() }),
      order(newOrderId(), { currency: cardNumber() }),
      order(newOrderId(), { customerId: ` ${cardNumber()}` }),
      order(newOrderId(), { card: cardNumber() }),
      order(` ${cardNumber()}`),
      order(newOrderId()).slice(0, -1),
      `${order(newOrderId())} ${cardNumber()}`,
      Buffer.from(order(newOrderId())).toString('base64'),
      Buffer.from(order(newOrderId())).toString('hex'),
      order(newOrderId()).replace('{', `{"creditCardNumber":"${cardNumber()}",`),
      `4242-${cardNumber()}-4242`,
    ];
    await stage.publish(...upToTheGateway, ...atTheGate);
    await publishWithHeaders(unreadable);

    const copies: Received[] = [];
    while (copies.length < comingBack.length) copies.push(await taken(levelQueue()));
    addPlace('retry copies', copies.map(written).join('\n'));
    const parked: ParkedOrder[] = [];
    // The order whose approval was wrong is in review, and parked too.
    while (parked.length < unreadable.length + 1) parked.push(await stage.parked.next(cardKey));

    // Second and last run of those that came back; the error page comes again.
    for (const { body, headers } of copies) {
      await stage.client.publish({ routingKey: stage.broker.ordersQueue, body, properties: { headers } });
    }
    parked.push(await stage.parked.next(cardKey));
    await stage.announced(ids.good);
    await stage.publish(order(ids.good, { creditCardNumber: cardNumber() }));
    parked.push(await stage.parked.next(cardKey));
    assert.ok(parked.every(({ row }) => row.body_form === 'sealed'));
    addPlace('parked orders', parked.map(({ row }) => JSON.stringify(row)).join('\n'));
    addPlace('parked orders, opened', parked.map(({ body }) => body.toString('latin1')).join('\n'));
    for (const id of [ids.dropped, ids.garbage, ids.echo500, ids.echo400]) await stage.announced(id);
    await waitFor('the hopeless ones to be announced', async () => {
      const { rows } = await stage.database.query(
        "select 1 from cardauth.orders where notified_at is null and status in ('received', 'ready-to-ship', 'denied')",
      );
      return rows.length === 0;
    });
  }

  function order(id: string, change: Readonly<Record<string, unknown>> = {}): string {
    const cvv = CVVS[canaries.length % CVVS.length];
    return orderJson(id, { creditCardNumber: cardNumber(), creditCardCode: cvv, ...change });
  }

  function cardNumber(): string {
    const text = newCardNumber();
    canaries.push({ name: `card number ${canaries.length}`, text });
    return text;
  }

  function secret(name: string, prefix: string): string {
    const text = newSecret(prefix);
    canaries.push({ name, text: name === 'API key' ? text.replaceAll(/[^\w]/g, '') : text });
    return text;
  }

  function newCardKey(): string {
    const text = randomBytes(32).toString('base64url');
    canaries.push({ name: 'card key', text });
    return text;
  }

  async function publishWithHeaders(bodies: readonly string[]): Promise<void> {
    for (const body of bodies) {
      const headers = {
        note: `card ${cardNumber()}`,
        raw: Number(cardNumber()),
        nested: { card: cardNumber() },
      };
      const properties = { headers };
      const routingKey = stage.broker.ordersQueue;
      await stage.client.publish({ routingKey, body: Buffer.from(body), properties });
    }
  }

  function levelQueue(): string {
    return levelQueueOf(stage.broker.prefix, stage.broker.ordersQueue, LEVEL_MS);
  }

  function taken(queue: string): Promise<Received> {
    return waitFor(`a message on ${queue}`, () => stage.client.take(queue), { timeoutMs: 20_000 });
  }

  async function askHealth(port: number): Promise<void> {
    for (const path of ['/livez', '/readyz', '/metrics', `/${cardNumber()}`]) {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`);
      addPlace(path.length > 10 ? 'a path that does not exist' : path, await answer.text());
    }
  }

  async function shownConfiguration(environment: Record<string, string>): Promise<WorkerProcess> {
    const env = { ...stage.environment, ...environment };
    const shown = startProcess({ owner, args: [cardauth, 'config', 'show'], env });
    await shown.exited;
    return shown;
  }

  function addPlace(name: string, content: string | Buffer): void {
    places.push({ name, content });
  }

  async function inWriteAheadLog(wanted: readonly Canary[]): Promise<string[]> {
    const { rows } = await stage.database.query<{ name: string }>(
      'select name from pg_ls_waldir() order by modification desc limit 8',
    );
    const found: string[] = [];
    for (const { name } of rows) {
      const segment = await stage.database.query<{ content: Buffer }>(
        'select pg_read_binary_file($1) as content',
        [`pg_wal/${name}`],
      );
      const content = segment.rows[0]?.content ?? Buffer.alloc(0);
      found.push(...sightingsInLargePlace(wanted, { name: 'write-ahead log', content }));
    }
    return found;
  }
});

/** Body, properties and headers. */
function written({ body, properties, routingKey }: Received): string {
  return `${routingKey}\n${JSON.stringify(properties)}\n${body.toString('latin1')}`;
}

/** Every row of every table, and what the sessions were last asked. */
async function dump({ database }: Stage): Promise<string> {
  const { rows: tables } = await database.query<{ name: string }>(
    `select format('%I.%I', table_schema, table_name) as name from information_schema.tables
     where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`,
  );
  const lines: string[] = [];
  for (const name of [...tables.map((table) => table.name), 'pg_stat_activity']) {
    const { rows } = await database.query<{ line: string }>(
      `select row_to_json(t)::text as line from ${name} t`,
    );
    lines.push(name, ...rows.map(({ line }) => line));
  }
  return lines.join('\n');
}
