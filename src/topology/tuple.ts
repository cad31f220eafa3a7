/** What a stream carries: named fields, as in Storm. */
export type Values = Readonly<Record<string, unknown>>;

/** The streams that a component emits on, each with the type of its values. */
export type Streams = Readonly<Record<string, Values>>;

/** One tuple as a bolt receives it. */
export interface Tuple<V extends Values = Values> {
  readonly values: V;
  readonly source: { readonly component: string; readonly stream: string; readonly task: number };
  /** The spout's message id of the tree this tuple belongs to; undefined for an unreliable or tick tuple. */
  readonly messageId: string | undefined;
  /** Milliseconds until the message timeout of this tuple's tree (the earliest one, if it has several). */
  remainingMs(): number;
  /**
   * Aborted when the tree fails, times out or is shut down. It tells a bolt that nobody waits for it any more;
   * it never cancels an effect that is under way.
   */
  readonly signal: AbortSignal;
}
