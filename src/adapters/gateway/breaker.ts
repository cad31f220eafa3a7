import CircuitBreaker from 'opossum';
import type { AuthorizationOutcome } from '../../domain/outcome.ts';
import type { AuthorizationRequest, Gateway } from '../../ports/gateway.ts';
import { faultIn } from './stop-signs.ts';

export interface BreakerOptions {
  /** Share of faults, in percent, above which it opens. Default 50. */
  readonly errorThresholdPercentage?: number;
  /** It stays closed while fewer requests than this were made in the rolling window. Default 20. */
  readonly volumeThreshold?: number;
  /** Length of the rolling window. Default 10,000. */
  readonly rollingWindowMs?: number;
}

/** Watches the share of faults among the requests; what follows from it is the valve's to decide. */
export interface Breaker extends Gateway {
  /** Whether it opened since this was last asked. */
  hasTripped(): boolean;
  /** Stops the timers; requests under way end as they would have. */
  close(): void;
}

/**
 * opossum says when there are too many faults, and closes again at once: until when nothing is sent is not left to
 * it, because its pause has one length and its half-open state takes any late answer for the probe's. Requests are
 * never timed out or aborted here: one that is cut off would keep running at the gateway, and charge.
 */
export function createBreaker(gateway: Gateway, options: BreakerOptions = {}): Breaker {
  const breaker = new CircuitBreaker(authorizeOrThrowFault, {
    name: 'gateway',
    timeout: false,
    capacity: Number.MAX_SAFE_INTEGER,
    errorThresholdPercentage: options.errorThresholdPercentage ?? 50,
    volumeThreshold: options.volumeThreshold ?? 20,
    rollingCountTimeout: options.rollingWindowMs ?? 10_000,
    rollingPercentilesEnabled: false,
    enableSnapshots: false,
  });
  let tripped = false;
  breaker.on('open', () => {
    tripped = true;
    breaker.close();
  });

  async function authorizeOrThrowFault(request: AuthorizationRequest): Promise<AuthorizationOutcome> {
    const outcome = await gateway.authorize(request);
    if (faultIn(outcome) !== undefined) throw new Fault(outcome);
    return outcome;
  }

  return {
    authorize: (request) => breaker.fire(request).catch(outcomeOfFault),
    hasTripped: () => {
      const answer = tripped;
      tripped = false;
      return answer;
    },
    close: () => {
      breaker.shutdown();
    },
  };
}

/** Carries an outcome through opossum, which counts rejections. */
class Fault extends Error {
  readonly outcome: AuthorizationOutcome;

  constructor(outcome: AuthorizationOutcome) {
    super(`the gateway call came to ${outcome.kind}`);
    this.outcome = outcome;
  }
}

/** A bug's rejection goes on as one. */
function outcomeOfFault(error: unknown): AuthorizationOutcome {
  if (error instanceof Fault) return error.outcome;
  throw error;
}
