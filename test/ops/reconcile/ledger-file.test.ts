import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import { ledgerHolds } from '../../../src/ops/reconcile/ledger-file.ts';
import type { GatewayHold } from '../../../src/ports/gateway-holds.ts';

const range = { fromMs: 0, toMs: 0 };

async function read(text: string): Promise<GatewayHold[]> {
  const open = () => Readable.from([Buffer.from(text)]);
  const source = ledgerHolds('l', open, (amount, currency) => (currency === 'ISK' ? amount / 100n : amount));
  const holds: GatewayHold[] = [];
  for await (const hold of source.list(range)) holds.push(hold);
  return holds;
}

const approval = (change: object = {}): string =>
  JSON.stringify({
    kind: 'approval',
    at: '2026-01-31T12:00:01Z',
    createdAt: '2026-01-31T12:00:00Z',
    authorizationId: 'pi_1',
    orderId: '1234',
    idempotencyKey: 'order-1234-1',
    amountMinor: 4223,
    currency: 'usd',
    last4: '4242',
    ...change,
  });

const HOLD: GatewayHold = {
  reference: 'pi_1',
  orderId: '1234',
  idempotencyKey: 'order-1234-1',
  amountMinor: 4223n,
  currency: 'USD',
  state: 'held',
  createdAtMs: Date.UTC(2026, 0, 31, 12),
};

describe('a ledger as a file', () => {
  it('is read as the simulator writes it, voids included', async () => {
    const lines = [
      approval(),
      approval({ authorizationId: 'pi_2', orderId: null, idempotencyKey: null, currency: 'isk', amountMinor: 500 }),
      approval({ kind: 'void' }),
    ]; // prettier-ignore
    assert.deepEqual(await read(`${lines.join('\n')}\n`), [
      { ...HOLD, state: 'released' },
      { ...HOLD, reference: 'pi_2', orderId: undefined, idempotencyKey: undefined, amountMinor: 5n, currency: 'ISK' },
    ]); // prettier-ignore
  });

  it('is read as CSV, in any order of columns, with or without keys', async () => {
    const csv =
      'order_id,reference,amount_minor,currency,state,created_at\r\n' +
      '1234,pi_1,4223,USD,held,2026-01-31T12:00:00Z\r\n' +
      '1234,pi_2,4223,USD,released,2026-01-31T13:00:00+01:00\n';
    const withoutKey = { ...HOLD, idempotencyKey: undefined };
    assert.deepEqual(await read(csv), [withoutKey, { ...withoutKey, reference: 'pi_2', state: 'released' }]);
  });

  const header = 'reference,order_id,amount_minor,currency,state,created_at\n';
  for (const [what, text] of [
    ['half a line', `${approval()}\n${approval().slice(0, 40)}`],
    ['a void of nothing', approval({ kind: 'void' })],
    ['an amount in major units', `${header}pi_1,1234,42.23,USD,held,2026-01-31T12:00:00Z`],
    ['an unknown state', `${header}pi_1,1234,4223,USD,refunded,2026-01-31T12:00:00Z`],
    ['a missing cell', `${header}pi_1,1234,4223,USD,held`],
    ['a time without a zone', `${header}pi_1,1234,4223,USD,held,2026-01-31 12:00`],
    ['another header', `id,amount\npi_1,42`],
  ] as const) {
    it(`names the line of ${what}, and says nothing of its content`, async () => {
      await assert.rejects(read(text), (error: Error) => {
        assert.match(error.message, /^ledger l: line \d is no entry of a ledger$/);
        return true;
      });
    });
  }
});
