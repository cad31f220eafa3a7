import CircuitBreaker from 'opossum';
import type { AuthorizationOutcome, Unavailable, Unknown } from '../../domain/outcome.ts';
import type { Availability } from '../../ports/availability.ts';
import type { AuthorizationRequest, Gateway } from '../../ports/gateway.ts';

export interface BreakerOptions {
  /** Share of faults, in percent, above which the breaker opens. Default 50. */
  readonly errorThresholdPercentage?: number;
  /** It stays closed while fewer requests than this were made in the rolling window. Default 20. */
  readonly volumeThreshold?: number;
  /** Length of the rolling window. Default 10,000. */
  readonly rollingWindowMs?: number;
  /**
   * How long it stays open before it lets one request through to probe. Default 10,000: longer than a gateway call
   * may take, so that none from before it opened can end while the probe is out and be taken for its result.
   */
  readonly resetTimeoutMs?: number;
}

export interface GuardedGateway extends Gateway {
  /** `gateway`: whether a request would be let through now. */
  readonly availability: Availability;
  /** Stops the timers. Requests under way end as they would have; later ones are not made. */
  close(): void;
}

/** How soon an order that met a probe under way is worth another look: about one gateway call. */
const AFTER_PROBE_MS = 1_000;

/**
 * Stands in front of a gateway that keeps failing, so that orders wait where they are instead of failing one by one.
 *
 * - A fault is an outcome that says the gateway or the way to it is broken (isFault). Verdicts are not, nor are 429
 *   (it has its own pace) and `configuration` (no pause mends it): those would hide what really has to be done.
 * - Open: `unavailable`/`breaker_open` at once, without a call, and `availability` says so: the intake stops.
 * - Half-open: available again, until one request has taken the place of the probe; while that is out, it is
 *   unavailable again. Orders that were already on their way then get `breaker_open` too. That outcome costs no
 *   call and proves nothing about the order: whoever counts attempts must not count it.
 * - A probe's fault opens it again; any other outcome of the probe closes it.
 *
 * Requests are never timed out or aborted here: one that is cut off would keep running at the gateway, and charge.
 */
export function guardWithBreaker(gateway: Gateway, options: BreakerOptions = {}): GuardedGateway {
  const resetTimeoutMs = options.resetTimeoutMs ?? 10_000;
  const breaker = new CircuitBreaker(authorizeOrThrowFault, {
    name: 'gateway',
    timeout: false,
    capacity: Number.MAX_SAFE_INTEGER,
    errorThresholdPercentage: options.errorThresholdPercentage ?? 50,
    volumeThreshold: options.volumeThreshold ?? 20,
    rollingCountTimeout: options.rollingWindowMs ?? 10_000,
    resetTimeout: resetTimeoutMs,
    rollingPercentilesEnabled: false,
    enableSnapshots: false,
  });
  const listeners = new Set<() => void>();
  let closedDown = false;
  breaker.on('open', announce).on('halfOpen', announce).on('close', announce);

  /** Not from within opossum's events: what a listener throws would be taken for the request's failure. */
  function announce(): void {
    for (const listener of listeners) {
      queueMicrotask(() => {
        if (listeners.has(listener)) listener();
      });
    }
  }

  async function authorizeOrThrowFault(request: AuthorizationRequest): Promise<AuthorizationOutcome> {
    const outcome = await gateway.authorize(request);
    if (isFault(outcome)) throw new Fault(outcome);
    return outcome;
  }

  async function authorize(request: AuthorizationRequest): Promise<AuthorizationOutcome> {
    // Asked here and not left to opossum, which would count the refusal as a request of the window.
    const detail = refusal();
    if (detail !== undefined) return refused(detail);
    const isProbe = breaker.halfOpen;
    const outcome = breaker.fire(request).catch(outcomeOfFault);
    if (isProbe) announce();
    return outcome;
  }

  function refusal(): string | undefined {
    if (closedDown) return 'the breaker is closed down';
    if (breaker.closed || breaker.pendingClose) return undefined;
    return breaker.opened
      ? 'the gateway keeps failing: the breaker is open'
      : 'the gateway kept failing: one request is out to probe it';
  }

  function refused(detail: string): Unavailable {
    const retryAfterMs = breaker.opened ? resetTimeoutMs : AFTER_PROBE_MS;
    return { kind: 'unavailable', cause: 'breaker_open', detail, retryAfterMs };
  }

  return {
    authorize,
    availability: {
      name: 'gateway',
      unavailableBecause: refusal,
      onChange: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
    close: () => {
      closedDown = true;
      listeners.clear();
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

function isFault(outcome: AuthorizationOutcome): boolean {
  return (outcome.kind === 'unknown' || outcome.kind === 'unavailable') && COUNTS_AS_FAULT[outcome.cause];
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
