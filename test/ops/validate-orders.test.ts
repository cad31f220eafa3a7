import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createCardCipher } from '../../src/adapters/jose/card-cipher.ts';
import { Secret } from '../../src/domain/card.ts';
import type { ValidationReport } from '../../src/ops/validate-orders.ts';
import { cli, type CliWorld } from '../cli/fake-context.ts';
import { orderText, WITHOUT_CARD } from '../domain/order-text.ts';
import { sharedKey } from '../jose/keys.ts';

const good = (id: string) => orderText({ id });

async function validate(lines: readonly string[], args: readonly string[] = [], world: CliWorld = {}) {
  return cli(['orders', 'validate', '-', ...args], { ...world, stdin: lines.join('\n') });
}

async function reportOf(lines: readonly string[], world: CliWorld = {}): Promise<ValidationReport> {
  return JSON.parse((await validate(lines, ['--json'], world)).stdout) as ValidationReport;
}

describe('cardauth orders validate', () => {
  it('says nothing but the count when all is well, the expired card of the contract included', async () => {
    const { exitCode, stdout, stderr } = await validate([good('1'), '', good('"a"')]);
    assert.deepEqual([exitCode, stdout, stderr], [0, '', '2 lines: 2 good\n']);
  });

  it('names line, disposition, reason and field of each problem, as the worker would decide', async () => {
    const lines = [
      good('1'),
      orderText({ chargeAmount: '1.005' }),
      '',
      orderText({ id: '3', creditCardNumber: '"4242424242424241"' }),
      'not JSON',
      `${orderText({ id: '4' }).slice(0, -1)},"note":"${'x'.repeat(70_000)}"}`,
    ];
    const { exitCode, stdout, stderr } = await validate(lines);
    assert.equal(exitCode, 1);
    const told = stdout.trimEnd().split('\n');
    assert.equal(told.length, 4);
    assert.match(told[0] ?? '', /^line 2: park amount_precision: chargeAmount /);
    assert.match(told[1] ?? '', /^line 4: deny invalid_card_data: creditCardNumber fails its check digit/);
    assert.match(told[2] ?? '', /^line 5: park unparseable: /);
    assert.match(told[3] ?? '', /^line 6: park too_large: /);
    assert.equal(stderr, '5 lines: 1 good, 1 would be denied, 3 would be parked\n');
  });

  it('tells the same order again from another one under its id', async () => {
    const report = await reportOf([good('7'), good('"7"'), orderText({ id: '7', chargeAmount: '1' })]);
    const { ok, repeated, conflict, problems } = report;
    assert.deepEqual([ok, repeated, conflict], [2, 1, 1]);
    assert.deepEqual([problems[0]?.line, problems[0]?.reason], [3, 'order_conflict']);
  });

  it('takes currency and highest amount from the configuration, and needs no secret', async () => {
    const lines = [orderText({ chargeAmount: '500.5' })];
    const env = { CARDAUTH_CURRENCY: 'JPY' };
    assert.equal((await reportOf(lines, { env })).problems[0]?.reason, 'amount_precision');
    const low = { CARDAUTH_MAX_AMOUNT: '500' };
    assert.equal((await reportOf(lines, { env: low })).problems[0]?.reason, 'amount_range');
    assert.equal((await validate(lines, [], { env: { CARDAUTH_MAX_AMOUNT: 'lots' } })).exitCode, 78);
  });

  it('opens sealed cards where a key is configured, and says so where it cannot', async () => {
    const jwk = JSON.stringify(sharedKey());
    const cipher = createCardCipher([{ algorithm: 'dir', kid: undefined, jwk: new Secret(jwk) }]);
    const seal = async (card: object) => {
      const card_ = await cipher.seal(Buffer.from(JSON.stringify(card)));
      return orderText({ ...WITHOUT_CARD, card: JSON.stringify(card_) });
    };
    const number = '4242424242424241';
    const lines = [
      await seal({ creditCardNumber: number, creditCardExpiration: '122034', creditCardCode: '123' }),
    ];
    const blind = await validate(lines);
    assert.equal(blind.exitCode, 0);
    assert.match(blind.stderr, /1 with a sealed card that was not opened/);
    const parts = { cardCipher: () => Promise.resolve(createCardCipher) };
    const env = { CARDAUTH_CARD_KEY: jwk };
    const report = await reportOf(lines, { parts, env });
    assert.deepEqual([report.deny, report.sealed], [1, 0]);
  });

  it('prints no card data, whatever the line', async () => {
    const lines = [
      orderText({ creditCardNumber: '4242424242424241', creditCardCode: '739' }),
      orderText({ id: '"4242 4242 4242 4242"', creditCardCode: '739' }),
      `{"creditCardNumber":4242424242424242,"creditCardCode":739,`,
      orderText({ creditCardNumber: '4.2424242424242E15', creditCardCode: '"73917"' }),
    ];
    const text = await validate(lines);
    const json = await validate(lines, ['--json']);
    for (const output of [text.stdout, text.stderr, json.stdout, json.stderr])
      assert.doesNotMatch(output, /4242|739/);
  });

  it('keeps the report small: at most a thousand problems, the rest counted', async () => {
    const report = await reportOf(Array.from({ length: 1_200 }, () => 'x'));
    assert.deepEqual([report.park, report.problems.length, report.problemsLeftOut], [1_200, 1_000, 200]);
  });

  it('says that it was interrupted', async () => {
    const { exitCode, stderr } = await validate([good('1')], [], { interrupt: AbortSignal.abort() });
    assert.equal(exitCode, 130);
    assert.match(stderr, /interrupted before the end/);
  });

  it('fails on a file that is not there', async () => {
    const { exitCode, stderr } = await cli(['orders', 'validate', 'nowhere.ndjson']);
    assert.equal(exitCode, 1);
    assert.match(stderr, /ENOENT/);
  });
});
