/** Puts orders on the orders queue, as an upstream team does. */
export interface OrderPublisher {
  /**
   * Resolves when the broker has confirmed and routed the message, byte for byte as given. Many may be under way at
   * once; the publisher bounds what it sends. Rejects with an error that has an `errorClass`: `unroutable`, `nacked`
   * or `publisher_unavailable` (it is in no queue), `ambiguous` (it may be: publishing it again is safe, since an
   * order is authorized once).
   */
  publish(message: { readonly body: Uint8Array; readonly messageId: string }): Promise<void>;
}
