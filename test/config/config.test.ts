import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inspect } from 'node:util';
import { allGroups, loadConfig, type ConfigRequest } from '../../src/config/config.ts';
import { problemsText, type Problem } from '../../src/config/problem.ts';
import type { Group } from '../../src/config/variables.ts';

const required = {
  CARDAUTH_GATEWAY_API_KEY: 'sk_test_0123456789',
  CARDAUTH_FINGERPRINT_KEY: 'fingerprint-key-16',
};

function load(env: Record<string, string>, rest: Partial<ConfigRequest<Group>> = {}) {
  return loadConfig({ env: { ...required, ...env }, readFile: noFiles, groups: allGroups, ...rest });
}

function noFiles(): never {
  throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
}

function configOf(env: Record<string, string>, rest: Partial<ConfigRequest<Group>> = {}) {
  const loaded = load(env, rest);
  assert.ok(loaded.ok, loaded.ok ? '' : problemsText(loaded.problems));
  return loaded.config;
}

function problemsOf(
  env: Record<string, string>,
  rest: Partial<ConfigRequest<Group>> = {},
): readonly Problem[] {
  const loaded = load(env, rest);
  assert.ok(!loaded.ok, 'the configuration was accepted');
  return loaded.problems;
}

describe('loadConfig', () => {
  it('has the defaults of the public contract', () => {
    const config = configOf({});
    assert.equal(config.broker.urls.reveal(), 'amqp://guest:guest@127.0.0.1:5672');
    assert.equal(config.database.url.reveal(), 'postgres://postgres@127.0.0.1:5432/postgres');
    const { urls, ...broker } = config.broker;
    const { apiKey, ...gateway } = config.gateway;
    const { fingerprintKey, ...orders } = config.orders;
    assert.equal(String(urls) + String(apiKey) + String(fingerprintKey), '[secret][secret][secret]');
    assert.deepEqual(
      { broker, gateway, orders, topology: config.topology, http: config.http, log: config.log },
      {
        broker: {
          ordersQueue: 'orders',
          notificationsExchange: 'orders.processed',
          declare: 'passive',
          prefix: 'cardauth',
          tls: { ca: undefined, cert: undefined, key: undefined },
          managementUrl: undefined,
        },
        gateway: {
          dialect: 'stripe',
          url: undefined,
          merchantAccount: undefined,
          timeoutMs: 8000,
          keyWindowMs: 23 * 3_600_000,
          inquiryWaitsMs: [15_000, 60_000, 300_000, 1_800_000, 7_200_000, 43_200_000, 86_400_000],
          connections: 512,
        },
        orders: {
          defaultCurrency: 'USD',
          maxAmount: '999999.99',
          cardKeys: undefined,
          softDeclineRetry: undefined,
        },
        topology: {
          messageTimeoutMs: 30_000,
          leaseMs: 25_000,
          maxSpoutPending: 500,
          maxAttempts: 8,
          retryLevelsMs: [1000, 5000, 30_000, 120_000, 600_000, 3_600_000],
          drainMs: 25_000,
        },
        http: { host: '127.0.0.1', port: 9464 },
        log: { level: 'info', format: 'json' },
      },
    );
  });

  it('is frozen, down to the lists', () => {
    const config = configOf({});
    assert.ok(Object.isFrozen(config) && Object.isFrozen(config.topology));
    assert.ok(Object.isFrozen(config.topology.retryLevelsMs));
  });

  it('never shows a secret, however it is printed', () => {
    const secrets = [...Object.values(required), 'hunter2-hunter2'];
    const config = configOf({ DATABASE_URL: 'postgres://u:hunter2-hunter2@127.0.0.1/db' });
    const printed = JSON.stringify(config) + inspect(config, { depth: 9, showHidden: true });
    for (const secret of secrets) assert.ok(!printed.includes(secret), secret);
  });

  it('takes empty text for unset', () => {
    assert.equal(configOf({ CARDAUTH_ORDERS_QUEUE: '' }).broker.ordersQueue, 'orders');
    assert.match(problemsText(problemsOf({ CARDAUTH_GATEWAY_API_KEY: '' })), /is required and not set/);
  });

  it('reports every problem at once, each with variable, rule and example', () => {
    const problems = problemsOf({
      CARDAUTH_HTTP_PORT: '70000',
      CARDAUTH_MAX_ATTEMPTS: 'many',
      CARDAUTH_LEASE_MS: '40000',
      CARDAUTH_LEESE_MS: '1',
      CARDAUTH_FINGERPRINT_KEY: 'short',
    });
    assert.deepEqual(
      problems.map(({ what }) => what.split(' ')[0]),
      [
        'CARDAUTH_LEESE_MS',
        'CARDAUTH_FINGERPRINT_KEY',
        'CARDAUTH_MAX_ATTEMPTS',
        'CARDAUTH_HTTP_PORT',
        'CARDAUTH_MESSAGE_TIMEOUT_MS',
      ],
    );
    for (const { rule, example } of problems) assert.ok(rule !== '' && example !== '');
  });

  it('reports only what the command needs', () => {
    const env = { CARDAUTH_HTTP_PORT: 'x', CARDAUTH_GATEWAY_API_KEY: '', CARDAUTH_LEASE_MS: '1' };
    const loaded = load(env, { groups: ['database'] });
    assert.ok(loaded.ok);
    assert.deepEqual(Object.keys(loaded.config), ['database']);
    assert.deepEqual(
      problemsOf(env, { groups: ['http'] }).flatMap((problem) => problem.variables),
      ['CARDAUTH_HTTP_PORT'],
    );
  });

  it('checks the transport of whatever the command needs', () => {
    const env = { DATABASE_URL: 'postgres://db.example/orders' };
    assert.match(problemsText(problemsOf(env, { groups: ['database'] })), /unencrypted or unverified/);
    assert.ok(load({ ...env, CARDAUTH_ALLOW_PLAINTEXT: 'true' }, { groups: ['database'] }).ok);
    assert.ok(load(env, { groups: ['broker'] }).ok);
  });

  it('needs no secrets in the demo', () => {
    const loaded = loadConfig({ env: {}, readFile: noFiles, groups: allGroups, demo: true });
    assert.ok(loaded.ok);
    assert.ok(loaded.config.orders.fingerprintKey.reveal().length >= 16);
  });
});

/** variable, a value that is refused, why; the rows of one variable stand beside each other. */
const refused: readonly (readonly [string, string, RegExp])[] = [
  ['AMQP_URL', 'localhost:5672', /AMQP_URL .*does not start with amqp:/],
  ['AMQP_URL', 'http://127.0.0.1', /does not start with amqp:\/\/ or amqps:/],
  ['AMQP_URL', 'amqp://127.0.0.1,nonsense', /is not a URL/],
  ['AMQP_URL', 'amqp://user:pass/word@127.0.0.1', /is not a URL|has an @ after the host/],
  ['AMQP_URL', 'amqp://user:12/word@127.0.0.1', /has an @ after the host/],
  ['AMQP_URL', 'amqp://127.0.0.1,amqp://rabbit.example', /unencrypted connection to another host/],
  ['DATABASE_URL', 'mysql://127.0.0.1/db', /does not start with postgres:/],
  ['DATABASE_URL', 'postgres://db.example/orders', /unencrypted or unverified/],
  ['DATABASE_URL', 'postgres://db.example/orders?sslmode=no-verify', /unencrypted or unverified/],
  ['DATABASE_URL', 'postgres://db.example/orders?sslmode=prefer', /unencrypted or unverified/],
  ['DATABASE_URL', 'postgres://db/o?sslmode=require&uselibpqcompat=true', /unencrypted or unverified/],
  ['DATABASE_URL', 'postgres://127.0.0.1/orders?host=db.example', /unencrypted or unverified/],
  ['CARDAUTH_ORDERS_QUEUE', 'two words', /visible ASCII/],
  ['CARDAUTH_NOTIFICATIONS_EXCHANGE', 'x'.repeat(256), /visible ASCII/],
  ['CARDAUTH_BROKER_DECLARE', 'yes', /none of assert, passive, none/],
  ['CARDAUTH_BROKER_PREFIX', 'amq/x', /is not a name/],
  ['CARDAUTH_GATEWAY', 'adyen', /needs CARDAUTH_ADYEN_MERCHANT_ACCOUNT/],
  ['CARDAUTH_GATEWAY', 'adyen', /needs CARDAUTH_GATEWAY_URL/],
  ['CARDAUTH_GATEWAY', 'paypal', /none of stripe, adyen/],
  ['CARDAUTH_GATEWAY_URL', 'gateway', /is not a URL/],
  ['CARDAUTH_GATEWAY_URL', 'ftp://127.0.0.1', /does not start with http:/],
  ['CARDAUTH_GATEWAY_URL', 'https://user:pass@gw.example', /carries credentials/],
  ['CARDAUTH_GATEWAY_URL', 'https://gw.example/?x=1', /carries a query/],
  ['CARDAUTH_GATEWAY_URL', 'http://gw.example', /unencrypted connection to another host/],
  ['CARDAUTH_GATEWAY_API_KEY', 'sk_test\n', /visible ASCII/],
  ['CARDAUTH_GATEWAY_TIMEOUT_MS', '0', /is below 10/],
  ['CARDAUTH_GATEWAY_TIMEOUT_MS', '8s', /is not a whole number/],
  ['CARDAUTH_GATEWAY_TIMEOUT_MS', '8000.5', /is not a whole number/],
  ['CARDAUTH_GATEWAY_TIMEOUT_MS', '24000', /CARDAUTH_LEASE_MS \(25000\) ends before/],
  ['CARDAUTH_GATEWAY_KEY_WINDOW_HOURS', '24', /is above 23/],
  ['CARDAUTH_GATEWAY_KEY_WINDOW_HOURS', '0', /is zero/],
  ['CARDAUTH_GATEWAY_KEY_WINDOW_HOURS', '3', /ends before the last replay/],
  ['CARDAUTH_GATEWAY_CONNECTIONS', '0', /is below 1/],
  ['CARDAUTH_CURRENCY', 'usd', /three capital letters/],
  ['CARDAUTH_MAX_AMOUNT', '1e6', /plain decimal/],
  ['CARDAUTH_MAX_AMOUNT', '0.00', /is zero/],
  ['CARDAUTH_FINGERPRINT_KEY', 'fifteen-bytes-x', /shorter than 16 bytes/],
  ['CARDAUTH_CARD_KEY', '{"kty":"oct"}', /an oct key that is not 32 bytes/],
  ['CARDAUTH_WEBHOOK_URL', 'https://shop.example', /does not implement webhook/],
  ['CARDAUTH_MESSAGE_TIMEOUT_MS', '25000', /is not longer than CARDAUTH_LEASE_MS/],
  ['CARDAUTH_MESSAGE_TIMEOUT_MS', '1800000', /reaches the broker's consumer timeout/],
  ['CARDAUTH_LEASE_MS', '9000', /ends before a call/],
  ['CARDAUTH_MAX_SPOUT_PENDING', '0', /is below 1/],
  ['CARDAUTH_MAX_SPOUT_PENDING', '65536', /is above 65535/],
  ['CARDAUTH_MAX_ATTEMPTS', '23', /ends before the last replay, 83490 s after/],
  ['CARDAUTH_RETRY_LEVELS_MS', '1000,86400000', /ends before the last replay/],
  ['CARDAUTH_RETRY_LEVELS_MS', '1000,1000', /is not ascending/],
  ['CARDAUTH_RETRY_LEVELS_MS', '0,1000', /below 1/],
  ['CARDAUTH_RETRY_LEVELS_MS', '1000,86400001', /above 86400000/],
  ['CARDAUTH_RETRY_LEVELS_MS', '1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17', /more than 16/],
  ['CARDAUTH_RETRY_LEVELS_MS', '1000;2000', /list of whole numbers/],
  ['CARDAUTH_BROKER_CA_FILE', 'a\nb', /is not a path/],
  ['CARDAUTH_BROKER_CERT_FILE', 'worker.pem', /only one is set/],
  ['CARDAUTH_BROKER_KEY_FILE', 'key.pem', /only one is set/],
  ['CARDAUTH_BROKER_MANAGEMENT_URL', 'http://u:p@127.0.0.1:15672', /carries credentials/],
  ['CARDAUTH_BROKER_MANAGEMENT_URL', 'http://rabbit.example:15672', /unencrypted connection to another host/],
  ['CARDAUTH_SOFT_DECLINE_RETRY', 'true', /none of off, on/],
  ['CARDAUTH_SOFT_DECLINE_WAITS_MS', '1,2,3,4,5,6,7', /more than 6/],
  ['CARDAUTH_SOFT_DECLINE_WAITS_MS', '2592000001', /above 2592000000/],
  ['CARDAUTH_SOFT_DECLINE_WAITS_MS', '60000,60000', /is not ascending/],
  ['CARDAUTH_DRAIN_MS', '9000', /CARDAUTH_DRAIN_MS \(9000\) ends before a call/],
  ['CARDAUTH_ALLOW_PLAINTEXT', 'yes', /neither true nor false/],
  ['CARDAUTH_HTTP_HOST', 'a b', /host name or address/],
  ['CARDAUTH_HTTP_PORT', '65536', /is above 65535/],
  ['LOG_LEVEL', 'loud', /none of trace/],
  ['LOG_FORMAT', 'xml', /none of json, text/],
];

describe('a value is refused', () => {
  for (const [name, value, why] of refused) {
    it(`${name}=${value.slice(0, 60)}`, () => {
      const text = problemsText(problemsOf({ [name]: value }));
      assert.match(text, why);
      assert.match(text, new RegExp(`\\b${name}\\b`));
    });
  }
});

const accepted: readonly (readonly [string, string])[] = [
  ['AMQP_URL', 'amqps://u:p%40ss@rabbit-1.example:5671, amqps://rabbit-2.example/my%2Fvh'],
  ['AMQP_URL', 'amqp://[::1]:5672'],
  ['DATABASE_URL', 'postgres://db.example/orders?sslmode=verify-full'],
  ['DATABASE_URL', 'postgresql:///orders?host=/var/run/postgresql'],
  ['DATABASE_URL', 'postgres://localhost/orders'],
  ['CARDAUTH_GATEWAY_URL', 'https://gw.example/v2/'],
  ['CARDAUTH_GATEWAY_URL', 'http://127.0.0.1:8080'],
  ['CARDAUTH_GATEWAY_KEY_WINDOW_HOURS', '12.5'],
  ['CARDAUTH_BROKER_CA_FILE', '/etc/ssl/my ca.pem'],
  ['CARDAUTH_BROKER_MANAGEMENT_URL', 'https://rabbit.example:15671/broker/'],
  ['CARDAUTH_RETRY_LEVELS_MS', '1, 86400'],
  ['CARDAUTH_MAX_SPOUT_PENDING', '65535'],
  ['CARDAUTH_HTTP_PORT', '0'],
  ['CARDAUTH_MAX_ATTEMPTS', '22'],
  ['CARDAUTH_TEST_ANYTHING', 'belongs to the test suite'],
];

describe('a value is accepted', () => {
  for (const [name, value] of accepted) {
    it(`${name}=${value}`, () => {
      configOf({ [name]: value });
    });
  }

  it('soft declines to be tried again, with waits of their own', () => {
    const { orders } = configOf({
      CARDAUTH_SOFT_DECLINE_RETRY: 'on',
      CARDAUTH_SOFT_DECLINE_WAITS_MS: '60000,3600000',
    });
    assert.deepEqual(orders.softDeclineRetry, { waitsMs: [60_000, 3_600_000] });
  });

  it('adyen, with an address and a merchant account', () => {
    const { gateway } = configOf({
      CARDAUTH_GATEWAY: 'adyen',
      CARDAUTH_GATEWAY_URL: 'https://checkout-test.adyen.com/',
      CARDAUTH_ADYEN_MERCHANT_ACCOUNT: 'ExampleCom',
    });
    const { dialect, url, merchantAccount } = gateway;
    assert.deepEqual(
      [dialect, url, merchantAccount],
      ['adyen', 'https://checkout-test.adyen.com', 'ExampleCom'],
    );
  });

  it('plaintext to other hosts, when it is said so', () => {
    configOf({
      CARDAUTH_ALLOW_PLAINTEXT: 'true',
      AMQP_URL: 'amqp://rabbit.example',
      DATABASE_URL: 'postgres://db.example/orders',
      CARDAUTH_GATEWAY_URL: 'http://gw.example',
    });
  });
});

describe('a problem never quotes what was given', () => {
  const canary = 'canary-7fd1';
  for (const [name] of refused) {
    it(name, () => {
      const loaded = load({ [name]: `\u0001${canary}` });
      assert.ok(!loaded.ok);
      assert.ok(!JSON.stringify(loaded.problems).includes(canary));
    });
  }
});
