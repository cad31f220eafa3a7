/** An order as it is published: README.md, "Publish orders". */
export interface OrderMessage {
  readonly id: number;
  readonly customerId: number;
  /** A published test card. */
  readonly creditCardNumber: string;
  /** MMYYYY */
  readonly creditCardExpiration: string;
  readonly creditCardCode: string;
  /** Major units of USD. */
  readonly chargeAmount: number;
}

export function readOrder(body: Buffer): OrderMessage {
  return JSON.parse(body.toString()) as OrderMessage;
}

/** The `n`th order of every round and contestant. */
export function orderNumber(n: number): OrderMessage {
  return {
    id: n,
    customerId: 5_000 + (n % 700),
    creditCardNumber: '4242424242424242',
    creditCardExpiration: '122034',
    creditCardCode: '123',
    chargeAmount: (100 + ((n * 7919) % 90_000)) / 100,
  };
}
