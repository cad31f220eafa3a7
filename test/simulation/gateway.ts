/**
 * A payment gateway with a ledger. It keeps each key's answer for `retentionMs` from its first use, verdicts and errors
 * alike, and then has never heard of it: a request under a forgotten key charges again. What the issuer says to a card
 * is the order's fate (orders.ts).
 */
import type { Order } from '../../src/domain/order.ts';
import type {
  Approved,
  AuthorizationOutcome,
  Declined,
  InquiryOutcome,
  VoidOutcome,
} from '../../src/domain/outcome.ts';
import type { GatewayInquiry, LookupRequest } from '../../src/ports/gateway-inquiry.ts';
import type { AuthorizationRequest, Gateway } from '../../src/ports/gateway.ts';
import type { Fault } from './faults.ts';
import type { SimulatedProcess } from './machine.ts';
import { remoteCall, type World } from './network.ts';

/** A hold, as the gateway has it: what really happened to the money. */
export interface Hold {
  readonly reference: string;
  readonly orderId: string;
  readonly idempotencyKey: string;
  readonly amountMinor: bigint;
  readonly currency: string;
  readonly isPartial: boolean;
  readonly atMs: number;
  /** When it was given back, milliseconds since the start. */
  voidedAtMs: number | undefined;
}

export type Fate =
  | 'approved'
  | 'declined hard'
  | 'declined softly'
  | 'challenged'
  | 'softly, then approved'
  | 'declined for reasons unknown';

interface Answer {
  readonly outcome: AuthorizationOutcome;
  readonly fingerprint: string;
  readonly firstUsedMs: number;
  /** Nothing is answered under the key before. */
  readonly readyAtMs: number;
}

export interface GatewaySettings {
  readonly retentionMs: number;
  /** How long it takes until a search finds what there is. */
  readonly searchLagMs: number;
  readonly fateOf: (orderId: string) => Fate;
}

/** How long deciding takes: a second request under the key meanwhile is told that it is in use. */
const DECIDING_MS = 3;

export class SimulatedGateway {
  readonly ledger: Hold[] = [];
  /** Requests for an authorization that have arrived, by order. */
  readonly arrivals = new Map<string, number>();
  awayUntilMs = 0;
  misconfiguredUntilMs = 0;
  rateLimitedUntilMs = 0;
  /** Told of each request for an authorization as it leaves the process. */
  onAsked: (process: SimulatedProcess, request: AuthorizationRequest) => void = () => undefined;
  readonly #world: World;
  readonly #settings: GatewaySettings;
  readonly #answers = new Map<string, Answer>();
  readonly #declines = new Map<string, Declined>();
  #lastReference = 0;

  constructor(world: World, settings: GatewaySettings) {
    this.#world = world;
    this.#settings = settings;
  }

  /** The port of one process; its calls end within `wallMs`. */
  portFor(process: SimulatedProcess, wallMs: number): Gateway & GatewayInquiry & { close(): Promise<void> } {
    return {
      authorize: (request) => this.#authorize(process, wallMs, request),
      lookup: (request) => this.#lookup(process, wallMs, request),
      void: ({ reference }) => this.#void(process, wallMs, reference),
      close: () => Promise.resolve(),
    };
  }

  /** When the key was first used; undefined when it never was, or is forgotten. */
  firstUseOf(key: string): number | undefined {
    return this.#answers.get(key)?.firstUsedMs;
  }

  holdsOf(orderId: string): readonly Hold[] {
    return this.ledger.filter((hold) => hold.orderId === orderId);
  }

  #authorize(
    process: SimulatedProcess,
    wallMs: number,
    request: AuthorizationRequest,
  ): Promise<AuthorizationOutcome> {
    if (process.isAlive) this.onAsked(process, request);
    const { order, idempotencyKey } = request;
    return remoteCall<AuthorizationOutcome>(this.#world, {
      site: 'gateway.authorize',
      process,
      label: () => idempotencyKey,
      effect: (fault) => this.#answer(order, idempotencyKey, fault),
      lost: (how) => {
        if (how === 'away') return NOT_SENT;
        if (how === 'silence')
          return { kind: 'unknown', cause: 'no_answer', detail: `no answer within ${wallMs} ms` };
        return { kind: 'unknown', cause: 'connection_lost', detail: 'the connection broke' };
      },
      wallMs,
      takesMs: decidingMs,
      isAway: () => this.isAway,
      special: (fault, settle) => {
        if (fault.kind !== 'not-sent') return false;
        settle(() => NOT_SENT);
        return true;
      },
    });
  }

  #lookup(process: SimulatedProcess, wallMs: number, request: LookupRequest): Promise<InquiryOutcome> {
    return remoteCall<InquiryOutcome>(this.#world, {
      site: 'gateway.lookup',
      process,
      label: () => request.idempotencyKey,
      effect: (fault) => this.#find(request, fault),
      lost: () => ({ kind: 'unanswered', detail: 'no answer came' }),
      wallMs,
      isAway: () => this.isAway,
    });
  }

  #void(process: SimulatedProcess, wallMs: number, reference: string): Promise<VoidOutcome> {
    return remoteCall<VoidOutcome>(this.#world, {
      site: 'gateway.void',
      process,
      label: () => reference,
      effect: () => {
        const hold = this.ledger.find((one) => one.reference === reference);
        if (hold === undefined) return { kind: 'refused', detail: 'the gateway does not know it' };
        hold.voidedAtMs ??= this.#world.time.nowMs;
        return { kind: 'voided' };
      },
      lost: () => ({ kind: 'unanswered', detail: 'no answer came' }),
      wallMs,
      isAway: () => this.isAway,
    });
  }

  get isAway(): boolean {
    return this.#world.time.nowMs < this.awayUntilMs;
  }

  // --- what an authorization comes to ------------------------------------------------------------------------------

  #answer(order: Order, key: string, fault: Fault | undefined): AuthorizationOutcome {
    const { nowMs } = this.#world.time;
    const { orderId } = order.terms;
    this.arrivals.set(orderId, (this.arrivals.get(orderId) ?? 0) + 1);
    if (fault?.kind === 'misconfigured' || nowMs < this.misconfiguredUntilMs)
      return { kind: 'unavailable', cause: 'configuration', detail: 'HTTP 401' };
    if (fault?.kind === 'rate-limited' || nowMs < this.rateLimitedUntilMs)
      return { kind: 'unavailable', cause: 'rate_limited', retryAfterMs: 2_000, detail: 'HTTP 429' };
    if (fault?.kind === 'proxy-page') return { kind: 'unavailable', cause: 'proxy_page', detail: 'HTTP 400' };
    if (fault?.kind === 'bad-gateway') return { kind: 'unknown', cause: 'bad_gateway', detail: 'HTTP 502' };

    const outcome = this.#underKey(order, key, fault);
    if (fault?.kind === 'twice') {
      this.#world.time.lateAfter(fault.ms, () => {
        this.#underKey(order, key, undefined);
      });
    }
    if (fault?.kind === 'garbled') return { kind: 'unknown', cause: 'unreadable_answer', detail: 'not JSON' };
    if (fault?.kind === 'bad-gateway-after')
      return { kind: 'unknown', cause: 'bad_gateway', detail: 'HTTP 502' };
    return outcome;
  }

  #underKey(order: Order, key: string, fault: Fault | undefined): AuthorizationOutcome {
    const { nowMs } = this.#world.time;
    const known = this.#answers.get(key);
    if (known !== undefined && nowMs - known.firstUsedMs < this.#settings.retentionMs) {
      if (known.fingerprint !== fingerprintOf(order)) return { kind: 'contradicted', reason: 'key_reused' };
      if (nowMs < known.readyAtMs)
        return { kind: 'unknown', cause: 'key_in_use', detail: 'another request is under way' };
      return known.outcome;
    }
    const outcome = this.#decide(order, key, fault);
    if (outcome.kind === 'rejected') return outcome;
    this.#answers.set(key, {
      outcome,
      fingerprint: fingerprintOf(order),
      firstUsedMs: nowMs,
      readyAtMs: nowMs + decidingMs(fault),
    });
    return outcome;
  }

  #decide(order: Order, key: string, fault: Fault | undefined): AuthorizationOutcome {
    const { amountMinor, orderId } = order.terms;
    switch (fault?.kind) {
      case 'rejected':
        return { kind: 'rejected', code: 'parameter_missing' };
      case 'server-error':
        return { kind: 'unknown', cause: 'server_error', detail: 'HTTP 500' };
      case 'server-error-after':
        this.#issue(order, key);
        return { kind: 'unknown', cause: 'server_error', detail: 'HTTP 500' };
      case 'wrong-amount':
        return contradicted('amount_mismatch', this.#hold(order, key, { amountMinor: amountMinor + 1n }));
      case 'wrong-currency':
        return contradicted('currency_mismatch', this.#hold(order, key, { currency: 'XTS' }));
      // The dialect cancels it at once; half of the time that does not work.
      case 'partial':
        return contradicted(
          'partial_approval',
          this.#hold(order, key, {
            isPartial: true,
            voidedAtMs: fault.ms % 2 === 0 ? this.#world.time.nowMs : undefined,
          }),
        );
      case 'pending':
        this.#world.time.lateAfter(fault.ms, () => {
          this.#issue(order, key);
        });
        return { kind: 'unknown', cause: 'pending', detail: `order ${orderId} is not decided` };
      default:
        return this.#issue(order, key);
    }
  }

  /** What the issuer says, once for each key. */
  #issue(order: Order, key: string): Approved | Declined {
    switch (this.#settings.fateOf(order.terms.orderId)) {
      case 'approved':
        return this.#hold(order, key);
      case 'softly, then approved':
        return key.endsWith('-1') ? this.#decline(key, 'insufficient_funds') : this.#hold(order, key);
      case 'declined softly':
        return this.#decline(key, 'insufficient_funds');
      case 'declined hard':
        return this.#decline(key, 'stolen_card');
      case 'declined for reasons unknown':
        return this.#decline(key, 'no_such_code');
      case 'challenged':
        return this.#decline(key, 'authentication_required');
    }
  }

  #hold(
    order: Order,
    key: string,
    wrong: Partial<Pick<Hold, 'amountMinor' | 'currency' | 'isPartial' | 'voidedAtMs'>> = {},
  ): Approved {
    const { amountMinor, currency, orderId } = order.terms;
    const { nowMs } = this.#world.time;
    this.#lastReference += 1;
    const reference = `pi_${this.#lastReference}`;
    const hold = {
      reference,
      orderId,
      idempotencyKey: key,
      amountMinor,
      currency,
      isPartial: false,
      voidedAtMs: undefined,
    };
    this.ledger.push({ ...hold, ...wrong, atMs: nowMs });
    this.#world.trace.note(
      nowMs,
      'gateway',
      () => `holds ${amountMinor} for ${orderId} under ${key}: ${reference}`,
    );
    return { kind: 'approved', reference };
  }

  #decline(key: string, code: string): Declined {
    const declined: Declined = {
      kind: 'declined',
      reason: code === 'authentication_required' ? code : 'card_declined',
      class: CLASSES[code] ?? 'soft',
      code,
    };
    this.#declines.set(key, declined);
    return declined;
  }

  // --- what a question comes to ------------------------------------------------------------------------------------

  /** As stripe-inquiry.ts reads what is found: money counts under any key, a decline only under this one. */
  #find({ terms, idempotencyKey, reference }: LookupRequest, fault: Fault | undefined): InquiryOutcome {
    // Retrieved by its id, which no index has to know first.
    const named = this.ledger.find((one) => one.reference === reference && one.orderId === terms.orderId);
    if (named?.voidedAtMs === undefined && named !== undefined) return asFound(named, terms);
    if (fault?.kind === 'search-lags') return NOT_FOUND;
    const indexedMs = this.#world.time.nowMs - this.#settings.searchLagMs;
    const found = this.holdsOf(terms.orderId).filter(
      ({ atMs, voidedAtMs }) => voidedAtMs === undefined && atMs <= indexedMs,
    );
    const [hold, second] = found;
    if (hold !== undefined && second !== undefined) return contradicted('several_approvals', hold);
    if (hold !== undefined) return asFound(hold, terms);
    return this.#declines.get(idempotencyKey) ?? this.#asAnswered(idempotencyKey);
  }

  #asAnswered(key: string): InquiryOutcome {
    const known = this.#answers.get(key);
    return known?.outcome.kind === 'unknown' && known.outcome.cause === 'pending'
      ? { kind: 'undecided', cause: 'pending', detail: 'not decided' }
      : NOT_FOUND;
  }
}

const CLASSES: Readonly<Record<string, Declined['class']>> = { stolen_card: 'hard', no_such_code: 'unknown' };

function decidingMs(fault: Fault | undefined): number {
  return fault?.kind === 'slow' ? fault.ms : DECIDING_MS;
}

const NOT_SENT = { kind: 'unavailable', cause: 'not_sent', detail: 'connect ECONNREFUSED' } as const;
const NOT_FOUND = { kind: 'undecided', cause: 'not_found', detail: 'nothing found' } as const;

function asFound(hold: Hold, terms: LookupRequest['terms']): InquiryOutcome {
  if (hold.amountMinor !== terms.amountMinor) return contradicted('amount_mismatch', hold);
  if (hold.currency !== terms.currency) return contradicted('currency_mismatch', hold);
  if (hold.isPartial) return contradicted('partial_approval', hold);
  return { kind: 'approved', reference: hold.reference };
}

function contradicted<
  R extends 'amount_mismatch' | 'currency_mismatch' | 'partial_approval' | 'several_approvals',
>(
  reason: R,
  { reference }: { readonly reference: string },
): { readonly kind: 'contradicted'; readonly reason: R; readonly reference: string } {
  return { kind: 'contradicted', reason, reference };
}

/** A request is the same when its content is: the card belongs to it, the CVV as well. */
function fingerprintOf({ terms, means }: Order): string {
  const cvv = means.kind === 'card' && means.card.cvv !== undefined ? 'with CVV' : 'without CVV';
  return `${terms.amountMinor} ${terms.currency} ${terms.fingerprint} ${cvv}`;
}
