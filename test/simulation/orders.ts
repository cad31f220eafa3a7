/** The orders of a run: what upstream publishes, and what their issuers will say. */
import { nextBelow, nextFraction, type RandomSource } from '../../src/topology/random.ts';
import { oneOf } from './faults.ts';
import type { Fate } from './gateway.ts';

export interface SimulatedOrder {
  readonly orderId: string;
  readonly amountMinor: bigint;
  readonly publishedAtMs: number;
  readonly fate: Fate;
}

export type Variant = 'conflicting' | 'unreadable' | 'hopeless-card';

/** The first so many are the same, however many there are. */
export function makeOrders(
  count: number,
  withinMs: number,
  random: RandomSource,
  fate?: Fate,
): SimulatedOrder[] {
  return Array.from({ length: count }, (_, at) => ({
    orderId: String(at + 1),
    amountMinor: BigInt(100 + nextBelow(random, 100_000)),
    publishedAtMs: nextFraction(random) * withinMs,
    fate: fate ?? fateOf(random),
  }));
}

function fateOf(random: RandomSource): Fate {
  if (nextFraction(random) < 0.6) return 'approved';
  return oneOf(
    [
      'declined hard',
      'declined softly',
      'challenged',
      'softly, then approved',
      'declined for reasons unknown',
      'declined for reasons unknown',
    ] as const,
    random,
  );
}

/** The message's body; `conflicting` carries another amount under the same id. */
export function bodyOf(order: SimulatedOrder, variant?: Variant): Buffer {
  if (variant === 'unreadable') return Buffer.from(`{"id":${order.orderId},"chargeAmount":"a lot"}`);
  const minor = order.amountMinor + (variant === 'conflicting' ? 1n : 0n);
  return Buffer.from(
    JSON.stringify({
      id: Number(order.orderId),
      customerId: 5678,
      creditCardNumber: variant === 'hopeless-card' ? '4242424242424241' : '4242424242424242',
      creditCardExpiration: '012034',
      creditCardCode: 123,
      chargeAmount: `${minor / 100n}.${String(minor % 100n).padStart(2, '0')}`,
    }),
  );
}
