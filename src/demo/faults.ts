import type { FaultScript } from '../simulator/fault-script.ts';

/**
 * What goes wrong at the gateway during the demo: replies lost before and after the charge, a proxy's error page with
 * and without a charge behind it, slow answers, an answer that stalls, rate limiting, and a gateway error that stays
 * under its key, with and without a charge behind it, and verdicts that come later.
 */
export const demoFaults: FaultScript = [
  { match: { share: 0.02, nth: 1, seed: 'lost' }, fault: { kind: 'charge-then-drop' } },
  { match: { share: 0.02, nth: 1, seed: 'dropped' }, fault: { kind: 'drop-before-charge' } },
  { match: { share: 0.01, nth: 1, seed: '502' }, fault: { kind: 'html-502' } },
  { match: { share: 0.01, nth: 1, seed: '502 charged' }, fault: { kind: 'html-502', charged: true } },
  { match: { share: 0.01, nth: 1, seed: 'garbage' }, fault: { kind: 'garbage' } },
  { match: { share: 0.001, nth: 1, seed: '429' }, fault: { kind: '429', retryAfter: 1 } },
  { match: { share: 0.002, nth: 1, seed: 'stalled' }, fault: { kind: 'stalled-body' } },
  { match: { share: 0.001, seed: '500' }, fault: { kind: 'cached-500' } },
  { match: { share: 0.002, seed: '500 charged' }, fault: { kind: 'charge-then-500' } },
  {
    match: { share: 0.002, seed: 'pending' },
    fault: { kind: 'pending', settle: { as: 'approved', afterMs: 2_000 } },
  },
  { match: { share: 0.05, seed: 'slow' }, fault: { kind: 'delay', ms: 400 } },
];
