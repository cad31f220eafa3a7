/** A message as it came from the orders queue, kept so that a copy of it can be byte-identical. */
export interface OrderMessage {
  readonly body: Uint8Array;
  readonly messageId: string | undefined;
  readonly contentType: string | undefined;
  readonly correlationId: string | undefined;
  /** Publisher's headers; the broker's own (`x-...`) and ours (`cardauth-...`) are not among them. */
  readonly headers: Readonly<Record<string, unknown>>;
  readonly origin: { readonly queue: string; readonly exchange: string; readonly routingKey: string };
  /** Replays before this one: 0 on first sight. */
  readonly attempt: number;
  /** This worker knows that the order has its verdict: a copy must not carry the CVV any more. */
  readonly isDecided: boolean;
  /** When a worker first saw the order, milliseconds since the epoch; carried along by retry copies. */
  readonly firstSeenMs: number;
}
