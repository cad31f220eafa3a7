import type { AdmissionRules } from '../../src/domain/admission.ts';

export const RULES: AdmissionRules = {
  defaultCurrency: 'USD',
  maxAmount: '999999.99',
  fingerprintKey: Buffer.from('test fingerprint key'),
};

/** The example of the public contract, each field as its JSON text. */
export const CANONICAL_FIELDS: Readonly<Record<string, string>> = {
  id: '1234',
  customerId: '5678',
  creditCardNumber: '1111222233334444',
  creditCardExpiration: '"012014"',
  creditCardCode: '123',
  chargeAmount: '42.23',
};

export const WITHOUT_CARD = {
  creditCardNumber: undefined,
  creditCardExpiration: undefined,
  creditCardCode: undefined,
} as const;

/** The canonical order with some fields' JSON text replaced, added or, as undefined, left out. */
export function orderText(changes: Readonly<Record<string, string | undefined>> = {}): string {
  const fields = Object.entries({ ...CANONICAL_FIELDS, ...changes });
  const members = fields.flatMap(([name, text]) => (text === undefined ? [] : [`"${name}":${text}`]));
  return `{${members.join(',')}}`;
}

export function bytes(text: string): Uint8Array {
  return Buffer.from(text, 'utf8');
}
