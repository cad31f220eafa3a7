import type { DeclineReason, Declined } from '../../domain/outcome.ts';

/**
 * Stripe's decline codes as data. The codes are those of https://docs.stripe.com/declines/codes and of the card
 * errors in https://docs.stripe.com/error-codes, as of 2026-11; `hard` or `soft` follows the next steps named there:
 * `soft` where the same card may be tried again, `hard` where it takes another card, other data or another amount.
 * `duplicate_transaction` is missing on purpose: it says nothing about our own order (stripe-outcome.ts).
 */
const HARD_CODES: readonly string[] = [
  'card_not_supported',
  'currency_not_supported',
  'do_not_try_again',
  'expired_card',
  'fraudulent',
  'incorrect_address',
  'incorrect_cvc',
  'incorrect_number',
  'incorrect_pin',
  'incorrect_postal_code',
  'incorrect_zip',
  'invalid_account',
  'invalid_amount',
  'invalid_card_type',
  'invalid_cvc',
  'invalid_expiry_month',
  'invalid_expiry_year',
  'invalid_number',
  'invalid_pin',
  'lost_card',
  'merchant_blacklist',
  'mobile_device_authentication_required',
  'new_account_information_available',
  'not_permitted',
  'offline_pin_required',
  'online_or_offline_pin_required',
  'pickup_card',
  'pin_try_exceeded',
  'restricted_card',
  'revocation_of_all_authorizations',
  'revocation_of_authorization',
  'security_violation',
  'service_not_allowed',
  'stolen_card',
  'stop_payment_order',
  'testmode_decline',
  'transaction_not_allowed',
];

const SOFT_CODES: readonly string[] = [
  'approve_with_id',
  'authentication_not_handled',
  'authentication_required',
  'call_issuer',
  'card_decline_rate_limit_exceeded',
  'card_velocity_exceeded',
  'do_not_honor',
  'generic_decline',
  'insufficient_funds',
  'issuer_not_available',
  'no_action_taken',
  'processing_error',
  'reenter_transaction',
  'try_again_later',
  'withdrawal_count_limit_exceeded',
];

/** The card data itself is unusable; no issuer was needed to say so. */
const CARD_DATA_CODES: readonly string[] = [
  'incorrect_number',
  'invalid_card_type',
  'invalid_cvc',
  'invalid_expiry_month',
  'invalid_expiry_year',
  'invalid_number',
];

const AUTHENTICATION_CODES: readonly string[] = ['authentication_not_handled', 'authentication_required'];

const CLASS_OF_CODE: ReadonlyMap<string, Declined['class']> = new Map([
  ...HARD_CODES.map((code) => [code, 'hard'] as const),
  ...SOFT_CODES.map((code) => [code, 'soft'] as const),
]);

/**
 * Mastercard's merchant advice codes, which Stripe passes on as `network_advice_code`: after these, the same card with
 * the same data is not asked again (01 new account data, 03 and 21 do not try again, 04 and 22 token or product do not
 * qualify, 99 do not try again). Visa uses 01 and 03 for categories 1 and 3, never and other data.
 * Source: the tables of Everonet and Cybersource (processorInformation.merchantAdvice.code), read in 2026-11.
 */
const FINAL_NETWORK_ADVICE: readonly string[] = ['01', '03', '04', '21', '22', '99'];

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Of the same source: after these, not before so long. */
const NETWORK_WAITS_MS: ReadonlyMap<string, number> = new Map([
  ['24', HOUR_MS],
  ['25', DAY_MS],
  ['26', 2 * DAY_MS],
  ['27', 4 * DAY_MS],
  ['28', 6 * DAY_MS],
  ['29', 8 * DAY_MS],
  ['30', 10 * DAY_MS],
]);

/**
 * Visa's category 1, "issuer will never approve", each further try of which costs a fee: `network_decline_code`. The
 * same codes of other networks mean the same. Source: https://www.checkout.com/docs, Visa response codes, 2025-02, and
 * Checkout.com, "Changes to Visa response codes", 2026-09 (57).
 */
const FINAL_NETWORK_CODES: ReadonlySet<string> = new Set('04 07 12 14 15 41 43 46 57 R0 R1 R3'.split(' '));

/** What accompanies the code of a decline: Stripe's advice, and the card network's own words. */
export interface DeclineAdvice {
  readonly advice_code?: string | undefined;
  readonly network_advice_code?: string | undefined;
  readonly network_decline_code?: string | undefined;
}

/**
 * The class of a decline. Advice, where there is any, comes before what a code usually means, but never softens a hard
 * code. Source: https://docs.stripe.com/declines/card, "retrying issuer declines".
 */
export function declineClass(code: string, advice: DeclineAdvice = {}): Declined['class'] {
  const usual = CLASS_OF_CODE.get(code) ?? 'unknown';
  if (isFinal(advice)) return 'hard';
  if (advice.advice_code === 'try_again_later' && usual === 'unknown') return 'soft';
  return usual;
}

function isFinal(advice: DeclineAdvice): boolean {
  return (
    advice.advice_code === 'do_not_try_again' ||
    advice.advice_code === 'confirm_card_data' ||
    FINAL_NETWORK_ADVICE.includes(advice.network_advice_code ?? '') ||
    FINAL_NETWORK_CODES.has(advice.network_decline_code ?? '')
  );
}

/** For how long the card network does not want to be asked again, milliseconds. */
export function networkWaitMs({ network_advice_code }: DeclineAdvice): number | undefined {
  return NETWORK_WAITS_MS.get(network_advice_code ?? '');
}

export function declineReason(code: string): DeclineReason {
  if (AUTHENTICATION_CODES.includes(code)) return 'authentication_required';
  return CARD_DATA_CODES.includes(code) ? 'invalid_card_data' : 'card_declined';
}
