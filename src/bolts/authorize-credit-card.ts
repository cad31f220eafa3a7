import { notificationOf } from '../domain/notification.ts';
import { isTerminal, type Decision, type NextStep } from '../domain/order-states.ts';
import {
  orderIdOf,
  withoutCvv,
  type DecisionParkReason,
  type OpenAdmission,
  type OrderId,
  type OrderTerms,
  type SealedOrder,
} from '../domain/order.ts';
import type { AuthorizationOutcome } from '../domain/outcome.ts';
import type { Gateway } from '../ports/gateway.ts';
import type { Log } from '../ports/log.ts';
import type { OrderBook } from '../ports/order-book.ts';
import type { BasicBolt } from '../topology/bolt.ts';
import { pause, type Clock } from '../topology/clock.ts';
import { RetriableError } from '../topology/errors.ts';
import type { Tuple } from '../topology/tuple.ts';
import type { OrderValues, ParkedValues, ProcessedValues } from './order-values.ts';

export type AuthorizeStreams = { readonly processed: ProcessedValues; readonly parked: ParkedValues };

export interface AuthorizeParts {
  readonly book: OrderBook;
  readonly gateway: Gateway;
  /** Opens the card of an order that came with it sealed. */
  readonly openCard: (order: SealedOrder) => Promise<OpenAdmission>;
  readonly clock: Clock;
  readonly log: Log;
  /** The longest a call to the gateway can take, milliseconds. */
  readonly gatewayWallMs: number;
  /** What is kept free after the call, to record and announce its outcome, milliseconds. */
  readonly recordingMarginMs: number;
}

/** Asks the gateway under this key, which is the generation's. */
type Ask = (idempotencyKey: string, generation: number) => Promise<AuthorizationOutcome>;

type Emit = <S extends 'processed' | 'parked'>(stream: S, values: AuthorizeStreams[S]) => void;

/**
 * Decides an order: claim it in the system of record, ask the gateway, record the outcome. The claim is committed
 * before the first byte goes out; it answers "is the database there, and is this order still undecided?" in one
 * write. An order that is decided already goes straight on to its announcement.
 *
 * A charge that is under way is never cancelled: when its tuple times out, its late outcome is recorded all the same,
 * and the replay of that tuple waits here for it instead of asking the gateway a second time.
 */
export class AuthorizeCreditCard implements BasicBolt<OrderValues, AuthorizeStreams> {
  readonly kind = 'basic';
  readonly #parts: AuthorizeParts;
  readonly #underWay = new Map<OrderId, Promise<unknown>>();

  constructor(parts: AuthorizeParts) {
    this.#parts = parts;
  }

  async execute(tuple: Tuple<OrderValues>, emit: Emit): Promise<void> {
    const { gateway, openCard } = this.#parts;
    const { admission: asItCame } = tuple.values;
    const isSealed = asItCame.kind === 'sealed';
    const admission = isSealed ? await openCard(asItCame.order) : asItCame;
    switch (admission.kind) {
      case 'ok': {
        const { order } = admission;
        const ask: Ask = (idempotencyKey, generation) =>
          gateway.authorize({ order: generation === 1 ? order : withoutCvv(order), idempotencyKey });
        goOn(tuple.values, await this.#decide(order.terms, ask, tuple), emit);
        return;
      }
      case 'spent':
        goOn(tuple.values, await this.#decide(admission.terms, askOfSpent(admission, gateway), tuple), emit);
        return;
      case 'deny': {
        const { terms, reason } = admission;
        const decision = await this.#parts.book.apply(terms.orderId, { kind: 'refuse', terms, reason });
        goOn(tuple.values, decision, emit);
        return;
      }
      case 'park': {
        const { orderId, reason, detail: error } = admission;
        const { message } = tuple.values;
        // A sealed card hides what it holds, and may be opened once the right key is here.
        const readable = isSealed && reason === 'card_unreadable';
        emit('parked', { parked: { orderId, reason, class: 'input', error, message, readable } });
      }
    }
  }

  async #decide(terms: OrderTerms, ask: Ask, tuple: Tuple): Promise<Decision> {
    const { orderId } = terms;
    while (this.#underWay.has(orderId)) await this.#underWay.get(orderId);
    this.#refuseWhenTooLate(orderId, tuple);

    const decision = this.#claimAndCharge(terms, ask, tuple);
    const ended = decision.then(ignore, ignore);
    this.#underWay.set(orderId, ended);
    try {
      return await decision;
    } finally {
      if (this.#underWay.get(orderId) === ended) this.#underWay.delete(orderId);
    }
  }

  async #claimAndCharge(terms: OrderTerms, ask: Ask, tuple: Tuple): Promise<Decision> {
    const claimed = await this.#parts.book.apply(terms.orderId, { kind: 'claim', terms });
    if (claimed.next.step !== 'charge') return claimed;

    const { idempotencyKey, generation, claim } = claimed.next;
    const outcome = this.#isTooLate(tuple) ? TOO_LATE : await ask(idempotencyKey, generation);
    return this.#record(terms.orderId, { generation, claim, outcome }, tuple);
  }

  /** Writes the outcome down; tried for as long as the tuple lives, and once in any case. */
  async #record(
    orderId: OrderId,
    heard: { generation: number; claim: number; outcome: AuthorizationOutcome },
    tuple: Tuple,
  ): Promise<Decision> {
    const { book, clock, log } = this.#parts;
    for (let pauseMs = 50; ; pauseMs = Math.min(2 * pauseMs, 1_000)) {
      try {
        return await book.apply(orderId, { kind: 'outcome', ...heard });
      } catch (error) {
        if (!(error instanceof RetriableError) || tuple.remainingMs() <= pauseMs) throw error;
        log.warn(
          { orderId, outcome: heard.outcome.kind, err: error },
          'outcome not recorded yet, trying again',
        );
        await pause(clock, pauseMs);
      }
    }
  }

  #refuseWhenTooLate(orderId: OrderId, tuple: Tuple): void {
    if (!this.#isTooLate(tuple)) return;
    throw new RetriableError(`order ${orderId}: ${TOO_LATE.detail}`, { errorClass: TOO_LATE.cause });
  }

  #isTooLate(tuple: Tuple): boolean {
    return tuple.remainingMs() < this.#parts.gatewayWallMs + this.#parts.recordingMarginMs;
  }
}

const TOO_LATE = {
  kind: 'unavailable',
  cause: 'not_sent',
  detail: 'not sent to the gateway: too little of the message timeout is left to record its answer',
} as const;

/**
 * The copy was stripped because the order had a verdict. A later generation is asked for without a CVV in any case; the
 * first one was sent with it, and another request under its key would contradict that.
 */
function askOfSpent({ terms, means }: Extract<OpenAdmission, { kind: 'spent' }>, gateway: Gateway): Ask {
  return (idempotencyKey, generation) =>
    generation === 1
      ? Promise.resolve({ kind: 'rejected', code: 'cvv_removed' })
      : gateway.authorize({ order: { terms, means }, idempotencyKey });
}

function goOn(values: OrderValues, decision: Decision, emit: Emit): void {
  const { order, next } = decision;
  if (next.step === 'retry') throw comesBack(orderIdOf(values.admission), next);
  if (order === undefined) throw new Error('bug: an order was decided on without being stored');
  switch (next.step) {
    case 'announce':
      if (!isTerminal(order))
        throw new Error(`bug: order ${order.orderId} is ${order.status} and was to be announced`);
      emit('processed', { ...values, notification: notificationOf(order) });
      return;
    case 'park':
      emit('parked', { parked: parkedOrder(values, order.orderId, next) });
      return;
    case 'wait':
      throw new RetriableError(`order ${order.orderId} is claimed by another worker, which still lives`, {
        errorClass: 'claimed_elsewhere',
        retryAfterMs: next.retryAfterMs,
      });
    case 'charge':
    case 'inquire':
    case 'void':
    case 'refused':
    case 'nothing':
      throw new Error(`bug: nothing follows for order ${order.orderId}, which is ${order.status}`);
  }
}

function comesBack(
  orderId: OrderId | undefined,
  { detail, errorClass, retryAfterMs }: Extract<NextStep, { step: 'retry' }>,
): RetriableError {
  return new RetriableError(`order ${orderId ?? 'without an id'}: ${detail}`, {
    errorClass,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}

function parkedOrder(
  values: OrderValues,
  orderId: OrderId,
  why: { reason: DecisionParkReason; detail: string },
) {
  const { message } = values;
  return {
    orderId,
    reason: why.reason,
    class: 'review',
    error: why.detail,
    message,
    readable: true,
  } as const;
}

function ignore(): void {
  // Only that it ended matters; its own tuple hears how.
}
