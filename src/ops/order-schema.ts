/**
 * JSON Schema of the message of an order (contract: payments design, section 1), for those who publish orders. It never
 * refuses what a worker would take; what a schema cannot say (amounts exact in their currency, check digits, one spelling
 * an id) is said by `cardauth orders validate`.
 */
export const orderSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Order',
  description:
    'One order, as one JSON object in UTF-8 of at most 64 KiB. Unknown fields are ignored. Means to pay are one of: ' +
    'the three card fields, card, paymentMethod.',
  type: 'object',
  required: ['id', 'customerId', 'chargeAmount'],
  properties: {
    id: {
      description:
        'The identity of the order: it is authorized at most once. An integer up to 2^63-1, or text; 1234 and "1234" are the same order.',
      anyOf: [
        { type: 'integer', minimum: 1 },
        { type: 'string', pattern: '^[!-~]{1,128}$' },
      ],
    },
    customerId: {
      description: 'Passed through.',
      anyOf: [
        { type: 'integer', minimum: 0 },
        { type: 'string', minLength: 1, maxLength: 128 },
      ],
    },
    chargeAmount: {
      description: 'In major units, with no more decimals than the currency has: 42.23, or "42.23".',
      anyOf: [
        { type: 'number', exclusiveMinimum: 0 },
        { type: 'string', pattern: String.raw`^(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$` },
      ],
    },
    currency: {
      description: 'ISO 4217; without it, the default of the worker.',
      type: 'string',
      pattern: '^[A-Z]{3}$',
    },
    creditCardNumber: digits('12-19 digits; as a string, since JSON numbers lose digits.'),
    creditCardExpiration: digits('MMYYYY.'),
    creditCardCode: digits('3 digits, 4 for American Express.'),
    card: {
      description: 'In place of the card fields: those as the content of a compact JWE, enc A256GCM.',
      type: ['string', 'null'],
      maxLength: 6144,
    },
    paymentMethod: {
      description: "In place of the card fields: the gateway's token.",
      type: ['string', 'null'],
      pattern: '^[A-Za-z0-9_-]{1,255}$',
    },
  },
  examples: [
    {
      id: 1234,
      customerId: 5678,
      creditCardNumber: '4242424242424242',
      creditCardExpiration: '012034',
      creditCardCode: '123',
      chargeAmount: 42.23,
    },
    { id: 'A-17', customerId: 'c-9', paymentMethod: 'pm_card_visa', chargeAmount: '1999', currency: 'JPY' },
  ],
} as const;

function digits(description: string) {
  return { description, type: ['string', 'integer', 'null'] } as const;
}
