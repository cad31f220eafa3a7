import type { AmountRules } from './amount-rules.ts';

/**
 * Stripe's deviations from ISO 4217. Source: https://docs.stripe.com/currencies, "zero-decimal", "three-decimal" and
 * "special cases", as of 2026-11. Charges in HUF and TWD are as in ISO 4217; only payouts differ there.
 */
export const STRIPE_AMOUNTS: AmountRules = {
  exponents: {
    // No decimals any more, but still written with two, which must be 00.
    ISK: 2,
    UGX: 2,
    // A fifth of an ariary is no hundredth: none at Stripe.
    MGA: 0,
  },
  // Three decimals, the last one 0: the card networks have no third.
  multiplesOf: { BHD: 10n, JOD: 10n, KWD: 10n, OMR: 10n, TND: 10n },
};
