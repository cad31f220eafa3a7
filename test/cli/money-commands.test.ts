import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { MoneyParts } from '../../src/cli/money-parts.ts';
import type { Parts } from '../../src/cli/parts.ts';
import { cli } from './fake-context.ts';

const ENV = {
  CARDAUTH_GATEWAY_API_KEY: 'sk_test_1',
  CARDAUTH_FINGERPRINT_KEY: 'a fingerprint key for tests only',
  DATABASE_URL: 'postgres://127.0.0.1:1/none',
  AMQP_URL: 'amqp://127.0.0.1:1',
};

/** Nothing behind the commands may be touched. */
const untouchable: Parts = {
  money: () => Promise.resolve(new Proxy({} as MoneyParts, { get: (_, name) => assert.fail(String(name)) })),
  orderHistory: () => Promise.resolve(() => assert.fail('the history was opened')),
};

describe('commands about money refuse what they cannot mean', () => {
  for (const [line, message] of [
    ['unknown resolve --reason r', /missing required argument/],
    ['unknown resolve 1', /required option '--reason/],
    ['unknown resolve 1 --reason r --as shipped', /Allowed choices are approved, declined/],
    ['unknown resolve 1 --reason r --as approved', /needs --reference/],
    ['unknown resolve 1 --reason r --as approved --reference 4242424242424242', /needs --reference/],
    ['unknown resolve 1 2 --reason r --as approved --reference pi_1', /name one id/],
    ['unknown resolve - --reason r --as approved --reference pi_1', /name one id/],
    ['unknown resolve 1 --reason r --reference pi_1', /goes with --as approved/],
    ['unknown resolve 1 --reason r --offline-evidence', /goes with --as/],
    ['unknown resolve ünknown --reason r', /1-128 visible ASCII/],
    ['unknown list --limit 0', /whole number, 1-1000/],
    ['notifications resend --reason r', /one of the two/],
    ['notifications resend 1 --unannounced --reason r', /one of the two/],
    ['notifications resend 1', /required option '--reason/],
    ['reconcile --yes', /--yes goes with --fix/],
    ['reconcile --fix', /--fix needs --reason/],
    ['reconcile --since yesterday', /Expected an age/],
    ['orders reopen 1', /required option '--reason/],
  ] as const) {
    it(line, async () => {
      const run = await cli(line.split(' '), { parts: untouchable, env: ENV });
      assert.equal(run.exitCode, 2, run.stderr);
      assert.match(run.stderr, message);
      assert.equal(run.stdout, '');
    });
  }

  it('and --after that no page has named', async () => {
    const money = {
      openAttentionLists: () => ({ close: () => Promise.resolve() }),
    } as unknown as MoneyParts;
    const parts: Parts = { money: () => Promise.resolve(money) };
    const run = await cli(['unknown', 'list', '--after', 'nonsense'], { parts, env: ENV });
    assert.equal(run.exitCode, 2);
    assert.match(run.stderr, /--after is what a page before named/);
  });

  it('and a gateway that has no list', async () => {
    const money = { openGatewayHolds: () => undefined } as unknown as MoneyParts;
    const adyen = {
      CARDAUTH_GATEWAY: 'adyen',
      CARDAUTH_GATEWAY_URL: 'http://127.0.0.1:1',
      CARDAUTH_ADYEN_MERCHANT_ACCOUNT: 'shop',
    };
    const run = await cli(['reconcile'], {
      parts: { money: () => Promise.resolve(money) },
      env: { ...ENV, ...adyen },
    });
    assert.equal(run.exitCode, 2, run.stderr);
    assert.match(run.stderr, /adyen has no list of authorizations: use --ledger FILE/);
  });
});

describe('commands about money say when a service is away', () => {
  for (const line of ['unknown list', 'notifications list', 'unknown resolve 1 --reason r', 'reconcile']) {
    it(`${line}: 69`, async () => {
      const money = await import('../../src/money-operations.ts');
      const parts: Parts = { money: () => Promise.resolve(money), orderHistory: () => assert.fail() };
      const away = { ...ENV, CARDAUTH_GATEWAY_URL: 'http://127.0.0.1:1' };
      const run = await cli(line.split(' '), { parts, env: away });
      assert.equal(run.exitCode, 69, run.stderr);
      assert.equal(run.stdout, '');
    });
  }
});
