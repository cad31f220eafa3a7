import { notificationOf } from '../domain/notification.ts';
import { isTerminal, type Decision, type NextStep } from '../domain/order-states.ts';
import { orderIdOf, withoutCvv, type DecisionParkReason, type Order, type OrderId } from '../domain/order.ts';
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
  readonly clock: Clock;
  readonly log: Log;
  /** The longest a call to the gateway can take, milliseconds. */
  readonly gatewayWallMs: number;
  /** What is kept free after the call, to record and announce its outcome, milliseconds. */
  readonly recordingMarginMs: number;
}

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
    const { admission } = tuple.values;
    switch (admission.kind) {
      case 'ok':
        goOn(tuple.values, await this.#decide(admission.order, tuple), emit);
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
        emit('parked', { parked: { orderId, reason, class: 'input', error, message, readable: false } });
      }
    }
  }

  async #decide(order: Order, tuple: Tuple): Promise<Decision> {
    const { orderId } = order.terms;
    while (this.#underWay.has(orderId)) await this.#underWay.get(orderId);
    this.#refuseWhenTooLate(orderId, tuple);

    const decision = this.#claimAndCharge(order, tuple);
    const ended = decision.then(ignore, ignore);
    this.#underWay.set(orderId, ended);
    try {
      return await decision;
    } finally {
      if (this.#underWay.get(orderId) === ended) this.#underWay.delete(orderId);
    }
  }

  async #claimAndCharge(order: Order, tuple: Tuple): Promise<Decision> {
    const { book, gateway } = this.#parts;
    const { terms } = order;

    const claimed = await book.apply(terms.orderId, { kind: 'claim', terms });
    if (claimed.next.step !== 'charge') return claimed;

    const { idempotencyKey, generation, claim } = claimed.next;
    const asked = generation === 1 ? order : withoutCvv(order);
    const outcome = this.#isTooLate(tuple)
      ? TOO_LATE
      : await gateway.authorize({ order: asked, idempotencyKey });
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
