import type { AuthorizationOutcome, Unavailable } from '../../domain/outcome.ts';
import type { Availability } from '../../ports/availability.ts';
import type { AuthorizationRequest, Gateway } from '../../ports/gateway.ts';
import type { Log } from '../../ports/log.ts';
import type { Clock } from '../../topology/clock.ts';
import { createBreaker, type BreakerOptions } from './breaker.ts';
import { keepsFailing, StopSigns } from './stop-signs.ts';
import { Valve, type Objection, type Passage, type Stop } from './valve.ts';

export interface GuardOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** How many orders are at work at most when all is well. */
  readonly mostInWork: number;
  readonly breaker?: BreakerOptions;
}

export interface GuardedGateway extends Gateway {
  /** `gateway`: whether and for how many orders requests would be let through now. */
  readonly availability: Availability;
  /** Stops the timers. Requests under way end as they would have; later ones are not made. */
  close(): void;
}

/**
 * Stands in front of the gateway, so that orders wait where they are instead of failing one by one: while the gateway
 * is away, while our configuration is broken, and while it asks for a slower pace. stop-signs.ts and breaker.ts say
 * when to stop, valve.ts how it goes on.
 *
 * A request that is not let through is answered at once with `unavailable` and the cause of the stop. That proves
 * nothing about the order: whoever counts attempts must not count it.
 */
export function guardGateway(gateway: Gateway, options: GuardOptions): GuardedGateway {
  const valve = new Valve({ ...options, fullFlow: options.mostInWork });
  const breaker = createBreaker(gateway, options.breaker);
  const signs = new StopSigns();
  let closedDown = false;

  async function authorize(request: AuthorizationRequest): Promise<AuthorizationOutcome> {
    if (closedDown) return refused(CLOSED_DOWN);
    const passage = valve.enter();
    if (passage === undefined) return refused(valve.stop ?? CLOSED_DOWN);
    const outcome = await ask(request, passage);
    const doubted = signs.doubtsRejections;
    const objection = signs.read(outcome, request.order.terms.orderId);
    valve.leave(passage, breaker.hasTripped() ? enough(objection?.stop ?? KEEPS_FAILING) : objection);
    return doubted ? withoutRejection(outcome) : withoutOwnPause(outcome);
  }

  async function ask(request: AuthorizationRequest, passage: Passage): Promise<AuthorizationOutcome> {
    try {
      return await breaker.authorize(request);
    } catch (error) {
      valve.leave(passage, { stop: KEEPS_FAILING, isEnough: breaker.hasTripped() });
      throw error;
    }
  }

  return {
    authorize,
    availability: {
      name: 'gateway',
      unavailableBecause: () => (closedDown ? CLOSED_DOWN.because : valve.unavailableBecause()),
      mostInWork: () => valve.mostInWork(),
      onChange: (listener) => valve.onChange(listener),
    },
    close: () => {
      closedDown = true;
      valve.close();
      breaker.close();
    },
  };
}

const KEEPS_FAILING = keepsFailing('too many requests of the last seconds did');

const OTHERS_FIRST_MS = 10_000;

const CLOSED_DOWN: Stop = { cause: 'breaker_open', because: 'the worker ends: no further request is made' };

function enough(stop: Stop): Objection {
  return { stop, isEnough: true };
}

/** Without a wish for a pause: the intake is held, and the order's replay may be the next probe. */
function refused({ cause, because }: Stop): Unavailable {
  return { kind: 'unavailable', cause, detail: `not sent: ${because}` };
}

/**
 * Refused for the same unknown reason as the orders before it: nothing charged, and nothing said about this one. It
 * waits a little, so that the next probe is another order.
 */
function withoutRejection(outcome: AuthorizationOutcome): AuthorizationOutcome {
  if (outcome.kind !== 'rejected') return outcome;
  const detail = `rejected (${outcome.code}) like all orders before it`;
  return { kind: 'unavailable', cause: 'configuration', detail, retryAfterMs: OTHERS_FIRST_MS };
}

/** The pause that the gateway asked for is kept for all orders, here; this one need not wait by itself as well. */
function withoutOwnPause(outcome: AuthorizationOutcome): AuthorizationOutcome {
  if (outcome.kind !== 'unavailable' || outcome.cause !== 'rate_limited') return outcome;
  const { kind, cause, detail } = outcome;
  return { kind, cause, detail };
}
