import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import * as z from 'zod';
import { admit } from '../../src/domain/admission.ts';
import { orderSchema } from '../../src/ops/order-schema.ts';
import { cli } from '../cli/fake-context.ts';
import { bytes, orderText, RULES, WITHOUT_CARD } from '../domain/order-text.ts';

const schema = z.fromJSONSchema(orderSchema as unknown as Parameters<typeof z.fromJSONSchema>[0]);
const fits = (text: string): boolean => schema.safeParse(JSON.parse(text)).success;

describe('the JSON Schema of an order', () => {
  it('is published as it is', async () => {
    const kept = readFileSync(new URL('../../../schemas/order.json', import.meta.url), 'utf8');
    const { stdout } = await cli(['schema', 'order']);
    assert.equal(
      kept,
      stdout,
      'out of date: run `npm run build && npx cardauth schema order > schemas/order.json`',
    );
  });

  it('has examples that fit it, and that a worker takes', () => {
    for (const example of orderSchema.examples) {
      const text = JSON.stringify(example);
      assert.ok(fits(text), text);
      assert.equal(admit(bytes(text), RULES).kind, 'ok', text);
    }
  });

  it('never refuses what a worker would take or deny', () => {
    const value = fc.oneof(
      fc.constantFrom(
        ...[
          '1',
          '0',
          '42.23',
          '1e2',
          '"1"',
          '"x y"',
          '""',
          '"42.230"',
          '"4.2E1"',
          '"007"',
          'null',
          'true',
          '{}',
          '[]',
        ],
        ...[
          '"4242 4242 4242 4242"',
          '4242424242424242',
          '"pm_card_visa"',
          '"USD"',
          '"usd"',
          '"012034"',
          '12034',
          '"é"',
        ],
      ),
      fc.string().map((text) => JSON.stringify(text)),
    );
    const changes = fc.array(fc.tuple(fc.constantFrom(...Object.keys(orderSchema.properties)), value), {
      maxLength: 3,
    });
    const base = fc.constantFrom({}, { ...WITHOUT_CARD, paymentMethod: '"pm_1"' });
    let taken = 0;
    fc.assert(
      fc.property(base, changes, (start, changed) => {
        const text = orderText({ ...start, ...Object.fromEntries(changed) });
        if (admit(bytes(text), RULES).kind === 'park') return;
        taken++;
        assert.ok(fits(text), text);
      }),
      { numRuns: 2_000 },
    );
    assert.ok(taken > 200, `only ${taken} of the orders were taken`);
  });

  it('refuses what is plainly wrong', () => {
    const changes = [
      { chargeAmount: '"42,23"' },
      { chargeAmount: '0' },
      { chargeAmount: undefined },
      { id: 'null' },
      { id: '"a b"' },
      { currency: '"usd"' },
      { customerId: undefined },
      { creditCardNumber: '{}' },
      { ...WITHOUT_CARD, paymentMethod: '"pm 1"' },
    ];
    for (const change of changes) assert.ok(!fits(orderText(change)), JSON.stringify(change));
  });
});
