/**
 * A ledger of authorizations as a file: for gateways without a list of their own, and as a second witness. Either the
 * simulator's NDJSON, or CSV without quotes, with a line of names first:
 *
 *     reference,order_id,amount_minor,currency,state,created_at,idempotency_key
 *     S4242,1234,4223,USD,held,2026-01-31T12:00:00Z,order-1234-1
 *
 * `state` is held or released; the last column may be missing. Amounts are minor units of ISO 4217.
 */
import * as z from 'zod';
import type { GatewayHold, GatewayHolds } from '../../ports/gateway-holds.ts';
import { ndjsonLines } from '../ndjson-lines.ts';

const LONGEST_LINE_BYTES = 65_536;

/** Throws an Error that names the line, without its content, when one cannot be read. */
export function ledgerHolds(
  name: string,
  open: () => AsyncIterable<Uint8Array>,
  toMinorUnits: (amount: bigint, currency: string) => bigint | undefined,
): GatewayHolds {
  return {
    name: `ledger ${name}`,
    async *list() {
      const holds = new Map<string, GatewayHold>();
      let columns: readonly string[] | undefined;
      for await (const { number, bytes } of ndjsonLines(open(), LONGEST_LINE_BYTES)) {
        const text = bytes?.toString('utf8') ?? '';
        if (columns === undefined && number === 1 && !text.startsWith('{')) {
          columns = text.split(',');
          continue;
        }
        const hold = columns === undefined ? ofNdjson(text, holds, toMinorUnits) : ofCsv(text, columns);
        if (hold === undefined) throw new Error(`ledger ${name}: line ${number} is no entry of a ledger`);
        holds.set(hold.reference, hold);
      }
      yield* holds.values();
    },
  };
}

// --- the simulator's NDJSON --------------------------------------------------------------------------------------

const entry = z.object({
  kind: z.enum(['approval', 'void']),
  at: z.iso.datetime(),
  createdAt: z.iso.datetime().optional(),
  authorizationId: z.string().min(1).max(255),
  orderId: z.string().nullable(),
  idempotencyKey: z.string().nullable(),
  amountMinor: z.int().nonnegative(),
  currency: z.string().regex(/^[a-zA-Z]{3}$/),
});

function ofNdjson(
  text: string,
  earlier: ReadonlyMap<string, GatewayHold>,
  toMinorUnits: (amount: bigint, currency: string) => bigint | undefined,
): GatewayHold | undefined {
  const read = entry.safeParse(jsonOf(text)).data;
  if (read === undefined) return undefined;
  const { authorizationId: reference, orderId, idempotencyKey } = read;
  const known = earlier.get(reference);
  if (read.kind === 'void') return known === undefined ? undefined : { ...known, state: 'released' };
  const currency = read.currency.toUpperCase();
  return {
    reference,
    orderId: orderId ?? undefined,
    idempotencyKey: idempotencyKey ?? undefined,
    amountMinor: toMinorUnits(BigInt(read.amountMinor), currency),
    currency,
    state: 'held',
    createdAtMs: Date.parse(read.createdAt ?? read.at),
  };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Its message would quote the line.
    return undefined;
  }
}

// --- CSV ---------------------------------------------------------------------------------------------------------

const row = z.object({
  reference: z.string().regex(/^[\w-]{1,255}$/),
  order_id: z.string().regex(/^[!-~]{1,128}$/),
  amount_minor: z.string().regex(/^\d{1,18}$/),
  currency: z.string().regex(/^[A-Z]{3}$/),
  state: z.enum(['held', 'released']),
  created_at: z.iso.datetime({ offset: true }),
  idempotency_key: z.string().optional(),
});

function ofCsv(text: string, columns: readonly string[]): GatewayHold | undefined {
  const cells = text.split(',');
  if (cells.length !== columns.length) return undefined;
  const read = row.safeParse(
    Object.fromEntries(columns.map((column, index) => [column.trim(), cells[index]?.trim()])),
  );
  if (read.data === undefined) return undefined;
  const { reference, order_id, amount_minor, currency, state, created_at, idempotency_key } = read.data;
  return {
    reference,
    orderId: order_id,
    idempotencyKey: idempotency_key,
    amountMinor: BigInt(amount_minor),
    currency,
    state,
    createdAtMs: Date.parse(created_at),
  };
}
