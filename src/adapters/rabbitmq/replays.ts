/**
 * What becomes of an order whose tuple tree failed:
 *
 *     replays left --- short wait: held in process, and live again
 *         |       `--- longer wait, or too many held: a copy goes to a level queue, then the original is acked
 *         |                `--- the copy cannot be published: held instead, tried again while too many are held,
 *         |                     given back once it was here for too long
 *         `- none ---- goes out on the stream `exhausted`; if that fails too it is replayed there, for ever
 *
 * An order whose generation is over is no longer ours: the redelivered copy behind it takes over attempt and wait, and
 * without one it is forgotten.
 */
import type { Log } from '../../ports/log.ts';
import type { OrderMessage } from '../../ports/message.ts';
import type { Clock } from '../../topology/clock.ts';
import type { RandomSource } from '../../topology/random.ts';
import { decideReplay, type ReplayRules } from '../../topology/replay-policy.ts';
import type { TreeFailure } from '../../topology/spout.ts';
import { LONGEST_CUSTODY_MS, type Custody, type OrderInCustody } from './custody.ts';
import { sleep } from './deadline.ts';
import type { Delivery } from './delivery.ts';
import type { RetryCopies } from './retry-copies.ts';

export interface ReplaysOptions<V> {
  readonly custody: Custody<V>;
  readonly retryCopies: Pick<RetryCopies, 'send'>;
  readonly replayRules: ReplayRules;
  /** Whether the order has its verdict when its tree failed like this. */
  readonly isDecided?: ((failure: TreeFailure) => boolean) | undefined;
  /** The values of a delivery's message; undefined when it cannot be read. */
  readonly read: (delivery: Delivery) => V | undefined;
  readonly holdUpToMs: number;
  /** Whether anything may wait in this process now. */
  readonly mayWait: () => boolean;
  /** Aborted when the end has begun. */
  readonly ending: AbortSignal;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly log: Log;
}

/** Where no copy can be published, the replay comes earlier than wished rather than not at all. */
const LONGEST_HOLD_MS = 30_000;
const MOVE_AGAIN_AFTER_MS = 5_000;
const MOST_ATTEMPTS = 1_000_000;

export class Replays<V> {
  readonly #options: ReplaysOptions<V>;
  readonly #moving = new Set<Promise<void>>();

  constructor(options: ReplaysOptions<V>) {
    this.#options = options;
  }

  failed(order: OrderInCustody<V>, failure: TreeFailure): void {
    this.#sayWhatFailed(order, failure);
    order.delivery = { ...order.delivery, failedAs: failure.errorClass };
    const ours = this.#stillOurs(order);
    if (ours !== undefined) this.#replay(ours, failure);
  }

  /**
   * Exchanges what has waited here for too long for copies. In an outage of many hours, giving it back instead would
   * use up the queue's delivery limit.
   */
  renewOverdue(): void {
    const nowMs = this.#options.clock.nowMs();
    const overdue = this.#options.custody.startMoving(
      ({ delivery }) => nowMs - delivery.receivedAtMs >= LONGEST_CUSTODY_MS,
    );
    for (const order of overdue) this.#move(order, 0);
  }

  /** Resolves when no copy is under way; they all have deadlines. */
  async whenMoved(): Promise<void> {
    await Promise.all(this.#moving);
  }

  #replay(order: OrderInCustody<V>, failure: TreeFailure): void {
    const { custody, isDecided, mayWait, random, replayRules } = this.#options;
    if (isDecided?.(failure)) noteVerdict(order);
    const { message, exhaustedBecause } = order.delivery;
    const rules = exhaustedBecause === undefined ? replayRules : withoutEnd(replayRules);
    const decision = decideReplay(rules, failure, message.attempt, random);
    if (decision.kind === 'replay') {
      this.#renumber(order, Math.min(decision.replays, MOST_ATTEMPTS), exhaustedBecause);
      this.#wait(order, decision.delayMs);
      return;
    }
    this.#renumber(order, message.attempt, becauseOf(message, failure));
    if (mayWait()) custody.renew(order);
    else this.#move(order, 0);
  }

  #wait(order: OrderInCustody<V>, delayMs: number): void {
    const isShort = delayMs <= this.#options.holdUpToMs;
    if (isShort && this.#mayHold(order) && this.#options.custody.hold(order, delayMs)) return;
    this.#move(order, delayMs);
  }

  #move(order: OrderInCustody<V>, delayMs: number): void {
    const moved = this.#moveNow(order, delayMs).finally(() => this.#moving.delete(moved));
    this.#moving.add(moved);
  }

  async #moveNow(first: OrderInCustody<V>, delayMs: number): Promise<void> {
    const { clock, custody, ending, log, retryCopies } = this.#options;
    for (let order = first; ;) {
      order.stage = 'moving';
      try {
        await retryCopies.send(order.delivery, delayMs, order.messageId);
        custody.settle(order, 'ack');
        return;
      } catch (error) {
        log.warn({ messageId: order.messageId, err: error }, 'no retry copy could be published');
      }
      const ours = this.#stillOurs(order);
      if (ours === undefined) return;
      if (!this.#mayHold(ours)) {
        custody.settle(ours, 'give-back');
        return;
      }
      if (custody.hold(ours, Math.min(delayMs, LONGEST_HOLD_MS))) return;
      await sleep(clock, MOVE_AGAIN_AFTER_MS, ending);
      order = ours;
    }
  }

  /** The order itself, or the redelivered copy that takes its place once its generation is over. */
  #stillOurs(order: OrderInCustody<V>): OrderInCustody<V> | undefined {
    if (order.delivery.generation.isOpen) return order;
    const copy = this.#options.custody.replace(order);
    if (copy !== undefined) {
      const attempt = Math.max(copy.delivery.message.attempt, order.delivery.message.attempt);
      const exhaustedBecause = copy.delivery.exhaustedBecause ?? order.delivery.exhaustedBecause;
      this.#renumber(copy, attempt, exhaustedBecause);
    }
    return copy;
  }

  #renumber(order: OrderInCustody<V>, attempt: number, exhaustedBecause: string | undefined): void {
    const message = { ...order.delivery.message, attempt };
    order.delivery = { ...order.delivery, message, exhaustedBecause };
    order.values = this.#options.read(order.delivery) ?? order.values;
  }

  #mayHold(order: OrderInCustody<V>): boolean {
    const ageMs = this.#options.clock.nowMs() - order.delivery.receivedAtMs;
    return this.#options.mayWait() && ageMs < LONGEST_CUSTODY_MS;
  }

  #sayWhatFailed({ messageId, delivery }: OrderInCustody<V>, failure: TreeFailure): void {
    const { reason, errorClass, error, where } = failure;
    const { component, phase, ageMs } = where;
    const { attempt } = delivery.message;
    const fields = { messageId, reason, errorClass, component, phase, ageMs, attempt, err: error };
    this.#options.log.warn(fields, 'tuple tree failed');
  }
}

function noteVerdict<V>(order: OrderInCustody<V>): void {
  order.delivery = { ...order.delivery, message: { ...order.delivery.message, isDecided: true } };
}

/** Classes and names only: the error's own text stays in the log. */
function becauseOf(message: OrderMessage, failure: TreeFailure): string {
  const since = new Date(message.firstSeenMs).toISOString();
  const { component, phase } = failure.where;
  const last = `${component} (${phase}): ${failure.errorClass}, ${failure.reason}`;
  return `${message.attempt} replays since ${since}; the last run failed in ${last}`;
}

function withoutEnd(rules: ReplayRules): ReplayRules {
  return { ...rules, otherwise: { ...rules.otherwise, maxReplays: Infinity }, byErrorClass: {} };
}
