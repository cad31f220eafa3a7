import type { AuthorizationOutcome, Unavailable, Unknown } from '../../domain/outcome.ts';
import type { OrderId } from '../../domain/order.ts';
import type { Objection, Stop } from './valve.ts';

/** So many orders in a row that end alike are no accident. */
const REJECTIONS_IN_A_ROW = 5;
/** More of them, since some faults are normal; it is for traffic too low for the breaker's share of faults. */
const FAULTS_IN_A_ROW = 10;

/**
 * Reads from the gateway's answers, one after the other, whether further requests make sense. Source: the outcome
 * table of the payments design.
 *
 * - `configuration` (401, 403, 404, 405, a redirect, TLS): at once. The same waits for every order.
 * - Several orders in a row rejected for no fault of their cards: the configuration again, only less certain. The
 *   orders up to that point are each taken at the gateway's word; what is rejected from then on says nothing about
 *   its order any more (`doubtsRejections`).
 * - 429: at once, for as long as the gateway asks.
 * - A fault of the gateway or of the way to it: several in a row. (The share of faults is the breaker's to watch.)
 *
 * Everything else is an answer, whatever it says: the gateway is there and works.
 */
export class StopSigns {
  readonly #faulty = new Set<OrderId>();
  readonly #rejected = new Set<OrderId>();
  #unsent = 0;

  get doubtsRejections(): boolean {
    return this.#rejected.size >= REJECTIONS_IN_A_ROW;
  }

  /** What the answer for this order says against further requests; undefined: nothing. */
  read(outcome: AuthorizationOutcome, orderId: OrderId): Objection | undefined {
    const fault = faultIn(outcome);
    if (fault !== undefined) return this.#readFault(fault, orderId);
    this.#faulty.clear();
    this.#unsent = 0;
    switch (outcome.kind) {
      case 'approved':
      case 'declined':
      case 'contradicted':
        this.#rejected.clear();
        return undefined;
      case 'rejected':
        return this.#readRejection(outcome.code, orderId);
      case 'unknown':
        return undefined;
      case 'unavailable':
        return readUnavailable(outcome);
    }
  }

  #readFault(fault: Unknown | Unavailable, orderId: OrderId): Objection {
    // One order may be faulty by itself, unless its request was not even sent.
    if (fault.cause === 'not_sent') this.#unsent += 1;
    else if (!this.#isFaultyEnough) this.#faulty.add(orderId);
    return { stop: keepsFailing(fault.detail), isEnough: this.#isFaultyEnough };
  }

  get #isFaultyEnough(): boolean {
    return this.#unsent + this.#faulty.size >= FAULTS_IN_A_ROW;
  }

  #readRejection(code: string, orderId: OrderId): Objection | undefined {
    if (!this.doubtsRejections) this.#rejected.add(orderId);
    if (!this.doubtsRejections) return undefined;
    const because =
      `the gateway rejects one order after the other for no fault of its card (${code}): ` +
      `look at the parked orders, and check the account at the gateway and its settings`;
    return { stop: { cause: 'configuration', because }, isEnough: true };
  }
}

/** Why the breaker is open, or would be. */
export function keepsFailing(detail: string): Stop {
  return {
    cause: 'breaker_open',
    because: `the gateway keeps failing (${detail}): see to it that it is up and reachable`,
  };
}

/** The outcome, if it says that the gateway or the way to it is broken. */
export function faultIn(outcome: AuthorizationOutcome): Unknown | Unavailable | undefined {
  if (outcome.kind !== 'unknown' && outcome.kind !== 'unavailable') return undefined;
  return COUNTS_AS_FAULT[outcome.cause] ? outcome : undefined;
}

const COUNTS_AS_FAULT: Readonly<Record<Unknown['cause'] | Unavailable['cause'], boolean>> = {
  no_answer: true,
  connection_lost: true,
  server_error: true,
  bad_gateway: true,
  not_sent: true,
  // An answer came, and it concerns this order, this key, our pace or our configuration.
  unreadable_answer: false,
  pending: false,
  key_in_use: false,
  rate_limited: false,
  configuration: false,
  proxy_page: false,
  breaker_open: false,
};

function readUnavailable({ cause, detail, retryAfterMs }: Unavailable): Objection | undefined {
  switch (cause) {
    case 'configuration': {
      const because = `the gateway's configuration is broken (${detail}): correct CARDAUTH_GATEWAY_URL or CARDAUTH_GATEWAY_API_KEY and restart, or mend it at the gateway`;
      return { stop: { cause, because }, isEnough: true };
    }
    case 'rate_limited': {
      const stop = { cause, because: `the gateway asks for a slower pace (${detail})` } as const;
      return { stop: retryAfterMs === undefined ? stop : { ...stop, pauseMs: retryAfterMs }, isEnough: true };
    }
    case 'not_sent':
    case 'breaker_open':
    case 'proxy_page':
      return undefined;
  }
}
