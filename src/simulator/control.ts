/**
 * The test's own door, never part of the dialect:
 *
 * - `GET /__ledger`: `{ entries }`, see ledger.ts.
 * - `GET /__requests`: `{ counts, recent }`, see request-log.ts; `?orderId=` narrows `recent`.
 * - `GET /__faults`: `{ rules }`, each with its `hits`. `PUT /__faults` replaces the script (the body).
 * - `POST /__release`: lets held requests go: `{ released }`.
 */
import type { Rendered } from './answer.ts';
import { faultScriptFromJson, FaultScriptError } from './fault-script.ts';
import type { Faults } from './faults.ts';
import type { Holds } from './holds.ts';
import type { Ledger } from './ledger.ts';
import type { RequestLog } from './request-log.ts';

export interface ControlContext {
  readonly ledger: Ledger;
  readonly log: RequestLog;
  readonly faults: Faults;
  readonly holds: Holds;
}

/** Undefined: this is not for the control door, but for the gateway. */
export function control(
  method: string,
  target: string,
  body: string,
  { ledger, log, faults, holds }: ControlContext,
): Rendered | undefined {
  const [path = '', query = ''] = target.split('?', 2);
  switch (`${method} ${path}`) {
    case 'GET /__ledger':
      return json(200, `{"entries":${ledger.toJson()}}`);
    case 'GET /__requests': {
      const orderId = new URLSearchParams(query).get('orderId') ?? undefined;
      return json(200, JSON.stringify({ counts: log.counts(), recent: log.recent(orderId) }));
    }
    case 'GET /__faults':
      return json(200, JSON.stringify({ rules: faults.list() }));
    case 'PUT /__faults':
      return replaceFaults(body, faults);
    case 'POST /__release':
      return json(200, JSON.stringify({ released: holds.release() }));
    default:
      return undefined;
  }
}

function replaceFaults(body: string, faults: Faults): Rendered {
  try {
    faults.replace(faultScriptFromJson(body));
  } catch (error) {
    if (!(error instanceof FaultScriptError)) throw error;
    return json(400, JSON.stringify({ error: error.message }));
  }
  return json(200, JSON.stringify({ rules: faults.list() }));
}

function json(status: number, body: string): Rendered {
  return { status, headers: { 'Content-Type': 'application/json' }, body };
}
