import type { OrderId } from '../../domain/order.ts';
import type { WaitingFact } from './waiting-fact.ts';

/**
 * Facts that wait for a group commit: each order has a line of its own, and the next fact of a line is not taken
 * before the one ahead of it was given back. So no two commits meet in an order, and its facts keep their order.
 */
export class FactQueue {
  readonly #lines = new Map<OrderId, WaitingFact[]>();
  /** Orders whose next fact may be taken. */
  #ready: OrderId[] = [];

  /** Whether nothing waits and nothing is taken. */
  get isEmpty(): boolean {
    return this.#lines.size === 0;
  }

  add(fact: WaitingFact): void {
    const line = this.#lines.get(fact.orderId);
    if (line !== undefined) {
      line.push(fact);
      return;
    }
    this.#lines.set(fact.orderId, [fact]);
    this.#ready.push(fact.orderId);
  }

  /** Up to `limit` unanswered facts, of different orders, the longest waiting first. Each must be given back. */
  take(limit: number): WaitingFact[] {
    const taken: WaitingFact[] = [];
    let visited = 0;
    for (const orderId of this.#ready) {
      if (taken.length === limit) break;
      visited += 1;
      const line = this.#lines.get(orderId) ?? [];
      while (line[0]?.isAnswered === true) line.shift();
      const [first] = line;
      if (first === undefined) this.#lines.delete(orderId);
      else taken.push(first);
    }
    this.#ready = this.#ready.slice(visited);
    return taken;
  }

  /** The fact is over, answered or not; or it must be taken again, `again`, before the others of its order. */
  giveBack(fact: WaitingFact, again = false): void {
    const line = this.#lines.get(fact.orderId);
    if (line === undefined) throw new Error(`order ${fact.orderId}: its fact was not taken from this queue`);
    if (!again) line.shift();
    if (line.length === 0) this.#lines.delete(fact.orderId);
    else this.#ready.push(fact.orderId);
  }

  /** Takes out everything that is not taken, for good. */
  drain(): WaitingFact[] {
    const waiting = this.#ready.flatMap((orderId) => this.#lines.get(orderId) ?? []);
    for (const orderId of this.#ready) this.#lines.delete(orderId);
    this.#ready = [];
    return waiting;
  }
}
