import type { FaultScript } from '../../src/simulator/fault-script.ts';
import { stormFaults } from '../e2e/storm-faults.ts';

/** Each of these stops the intake of the worker that meets it for seconds: rarer, or nothing else would ever happen. */
const STOPPING = new Set(['401', '403', '404', 'redirect', '429']);
const STOPPING_SHARE = 0.0015;

/** Every kind of fault that the simulator knows; which orders meet them, the seed decides. */
export function chaosFaults(seed: number): FaultScript {
  return stormFaults(seed).map((rule) =>
    STOPPING.has(rule.fault.kind) ? { ...rule, match: { ...rule.match, share: STOPPING_SHARE } } : rule,
  );
}
