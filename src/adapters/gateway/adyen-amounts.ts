import type { AmountRules } from './amount-rules.ts';

/**
 * Adyen's deviations from ISO 4217. Source: https://docs.adyen.com/development-resources/currency-codes, the rows that
 * are marked "differs from standard", as of 2026-11.
 */
export const ADYEN_AMOUNTS: AmountRules = {
  exponents: { CLP: 2, CVE: 0, IDR: 0, ISK: 2 },
  multiplesOf: {},
};
