/**
 * The body of a copy that the worker makes of a message (retry, parked), in place of the message's own. It reads as
 * the same order. `isDecided`: the order has its verdict, so that its CVV may no longer be kept.
 */
export type CopyBody = (body: Uint8Array, options: { readonly isDecided: boolean }) => Promise<Uint8Array>;

/** Without a key to seal cards with: as upstream sent it, and nothing but that. */
export const asUpstreamSentIt: CopyBody = (body) => Promise.resolve(body);
