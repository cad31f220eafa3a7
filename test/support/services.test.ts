import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { connectBroker } from './broker-client.ts';
import {
  canAdministerBroker,
  createBroker,
  createDatabase,
  createVhost,
  rabbitmqctl,
  testServices,
} from './services.ts';

test('without the test script, the error names it', (t) => {
  const value = process.env['CARDAUTH_TEST_AMQP_URL'];
  t.after(() => (process.env['CARDAUTH_TEST_AMQP_URL'] = value));
  delete process.env['CARDAUTH_TEST_AMQP_URL'];
  assert.throws(() => testServices(), /CARDAUTH_TEST_AMQP_URL is not set: run the tests with `npm test/);
});

test('each database is new, empty and goes away with its sessions', async () => {
  const [one, two] = await Promise.all([createDatabase(), createDatabase()]);
  assert.notEqual(one.url, two.url);
  const left = await connect(one.url);
  await left.query('CREATE TABLE kept (id int)');
  const other = await connect(two.url);
  const { rows } = await other.query<{ name: string | null }>("SELECT to_regclass('kept') AS name");
  assert.deepEqual(rows, [{ name: null }]);
  await other.end();

  await Promise.all([one.drop(), two.drop()]);
  await assert.rejects(connect(one.url), { code: '3D000' /* invalid_catalog_name */ });
});

test('each broker has names of its own, and cleanup deletes what it is told of', async (t) => {
  const [mine, other] = [createBroker(), createBroker()];
  assert.notEqual(mine.prefix, other.prefix);
  const client = await connectBroker(mine.url);
  t.after(() => client.close());
  t.after(() => other.cleanup());

  const parked = `${mine.prefix}.parked`;
  for (const name of [mine.ordersQueue, parked, other.ordersQueue]) await client.declareQueue(name);
  await client.declareExchange(mine.exchange);
  await mine.cleanup({ queues: [parked], exchanges: ['never-declared'] });
  assert.equal(await client.counts(mine.ordersQueue), undefined);
  assert.equal(await client.counts(parked), undefined);
  assert.deepEqual(await client.counts(other.ordersQueue), { ready: 0, consumers: 0 });
});

test('a virtual host of its own', { skip: !canAdministerBroker && 'the broker is not ours' }, async () => {
  const vhost = await createVhost();
  const client = await connectBroker(vhost.url);
  await client.declareQueue('orders');
  await client.close();
  assert.match(await rabbitmqctl('list_queues', '--vhost', vhost.name, 'name'), /^orders$/m);
  await vhost.drop();
  await assert.rejects(connectBroker(vhost.url), /ConnectionClose/);
});

/** Sessions may be ended by `drop`, which is no error for us. */
async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}
