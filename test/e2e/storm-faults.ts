import type { Fault, FaultRule, FaultScript } from '../../src/simulator/fault-script.ts';
import { nextBelow, type RandomSource } from '../../src/topology/random.ts';

/** What may have to wait for a person: the gateway says something else than it would without the fault. */
const BENT: readonly Fault[] = [
  { kind: 'echo-pan' },
  { kind: 'cached-500' },
  { kind: 'charge-then-500' },
  { kind: 'wrong-amount' },
  { kind: 'wrong-currency' },
  { kind: 'partial' },
  { kind: 'pending' },
  { kind: 'pending', settle: { as: 'approved', afterMs: 2_000 } },
  { kind: 'pending', settle: { as: 'declined', afterMs: 2_000 } },
  { kind: 'requires-action' },
  { kind: 'unknown-status' },
  { kind: 'unknown-decline-code' },
  { kind: 'decline', declineCode: 'do_not_honor' },
];

/** What must come out as if nothing had happened: it hits a request, not the verdict on it. */
const PASSING: readonly Fault[] = [
  { kind: 'drop-before-charge' },
  { kind: 'drop-before-charge', reset: true },
  { kind: 'hold-before-charge' },
  { kind: '429', retryAfter: 1 },
  { kind: '401' },
  { kind: '403' },
  { kind: '404' },
  { kind: 'redirect' },
  { kind: 'html-502' },
  { kind: 'html-502', charged: true },
  { kind: 'delay', ms: 700 },
  { kind: 'delay', ms: 2_500 },
  { kind: 'hold-in-flight' },
  { kind: 'charge-then-drop' },
  { kind: 'charge-then-drop', reset: true },
  { kind: 'hold' },
  { kind: 'stalled-headers' },
  { kind: 'stalled-body' },
  { kind: 'cut-body' },
  { kind: 'garbage' },
  { kind: 'garbage', where: 'body' },
  { kind: 'empty-body' },
  { kind: 'wrong-content-type' },
  { kind: 'huge-body' },
];

const BENT_SHARE = 0.004;
const PASSING_SHARE = 0.008;
/** One order in twelve has a fault on its second request, too. */
const SECOND_SHARE = 0.0035;

/** Every kind of fault, each on a share of the orders; which orders, the seed decides. */
export function stormFaults(seed: number): FaultScript {
  const onShare = (fault: Fault, share: number, nth: number): FaultRule => ({
    match: { share, nth, seed: `${seed} ${nth} ${JSON.stringify(fault)}` },
    fault,
  });
  return [
    ...BENT.map((fault) => onShare(fault, BENT_SHARE, 1)),
    ...PASSING.map((fault) => onShare(fault, PASSING_SHARE, 1)),
    ...PASSING.map((fault) => onShare(fault, SECOND_SHARE, 2)),
  ];
}

/**
 * Every kind of fault once, each on the first request of an order of its own: a share alone leaves some kind unmet in
 * one of seventy storms of 2,000 orders. Before the shares in a script, since the first rule that matches counts.
 *
 * @param orderIds of orders that are charged whatever happens; at least as many as there are kinds.
 */
export function dealtFaults(orderIds: readonly string[], random: RandomSource): FaultScript {
  const left = [...orderIds];
  return [...BENT, ...PASSING].map((fault) => {
    const [orderId] = left.splice(nextBelow(random, left.length), 1);
    return { match: { orderId, nth: 1 }, fault };
  });
}

/** A second order lies with a person, or is denied, by these faults only. */
export function isBent(kind: string | null): boolean {
  return BENT.some((fault) => fault.kind === kind);
}

/** Whether a good card may be declined under this fault. */
export function mayDecline(kind: string | null): boolean {
  return ['echo-pan', 'requires-action', 'unknown-decline-code', 'decline', 'pending'].includes(kind ?? '');
}
