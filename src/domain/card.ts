/** What a secret shows of itself in strings, JSON and inspection. */
const MASK = '[secret]';

/**
 * Holds a card number or a CVV. Its string, JSON and inspect forms are masked and it has no enumerable field, so
 * that no logger, error or serializer can print it; `reveal` is the one way out and is called by gateway dialects only.
 */
export class Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  reveal(): string {
    return this.#text;
  }

  toString(): string {
    return MASK;
  }

  toJSON(): string {
    return MASK;
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return MASK;
  }
}

export interface Card {
  /** 12-19 digits. */
  readonly number: Secret;
  /** 3 or 4 digits; undefined once the card has had a verdict, after which no CVV may be kept (PCI DSS 3.3.1). */
  readonly cvv?: Secret | undefined;
  /** 1-12; the card is good until the last day of that month. */
  readonly expiryMonth: number;
  readonly expiryYear: number;
}
