import { orderIdOf, type Intent } from './payment-intent.ts';

/** All intents of this gateway, in the order of their creation, each in its newest form. */
export class IntentStore {
  readonly #intents: Intent[] = [];
  readonly #positions = new Map<string, number>();
  readonly #byOrder = new Map<string, number[]>();

  /** Adds an intent, or replaces the older form of it. */
  put(intent: Intent): void {
    const known = this.#positions.get(intent.id);
    if (known !== undefined) {
      this.#intents[known] = intent;
      return;
    }
    const position = this.#intents.push(intent) - 1;
    this.#positions.set(intent.id, position);
    const orderId = orderIdOf(intent);
    if (orderId === undefined) return;
    const sameOrder = this.#byOrder.get(orderId);
    if (sameOrder === undefined) this.#byOrder.set(orderId, [position]);
    else sameOrder.push(position);
  }

  get(id: string): Intent | undefined {
    const position = this.#positions.get(id);
    return position === undefined ? undefined : this.#intents[position];
  }

  /** Newest first. */
  ofOrder(orderId: string): Intent[] {
    const positions = this.#byOrder.get(orderId) ?? [];
    return positions.toReversed().flatMap((position) => this.#intents[position] ?? []);
  }

  /**
   * Of those that `fits` wants, newest first; with `afterId`, only older ones than that. Undefined: there is no intent
   * of that id.
   */
  page(
    limit: number,
    afterId?: string,
    fits: (intent: Intent) => boolean = () => true,
  ): { intents: Intent[]; hasMore: boolean } | undefined {
    const end = afterId === undefined ? this.#intents.length : this.#positions.get(afterId);
    if (end === undefined) return undefined;
    const intents: Intent[] = [];
    for (const intent of this.#olderThan(end)) {
      if (!fits(intent)) continue;
      if (intents.length === limit) return { intents, hasMore: true };
      intents.push(intent);
    }
    return { intents, hasMore: false };
  }

  *#olderThan(end: number): Generator<Intent> {
    for (let position = end - 1; position >= 0; position -= 1) {
      const intent = this.#intents[position];
      if (intent !== undefined) yield intent;
    }
  }
}
