/** Seals cards for copies of our own and opens what was sealed for us; the content is described in sealed-card.ts. */
export interface CardCipher {
  /** The content; undefined when none of our keys opens it, whatever the cause. */
  open(jwe: string): Promise<Uint8Array | undefined>;
  /** A compact JWE that `open` opens. */
  seal(content: Uint8Array): Promise<string>;
}
