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
 * The class of a decline. The issuer's own advice, where it gives one, comes before what a code usually means, but
 * never softens a hard code. Source: https://docs.stripe.com/declines/card, "retrying issuer declines".
 */
export function declineClass(code: string, adviceCode: string | undefined): Declined['class'] {
  const usual = CLASS_OF_CODE.get(code) ?? 'unknown';
  if (adviceCode === 'do_not_try_again') return 'hard';
  if (adviceCode === 'try_again_later' && usual === 'unknown') return 'soft';
  return usual;
}

export function declineReason(code: string): DeclineReason {
  if (AUTHENTICATION_CODES.includes(code)) return 'authentication_required';
  return CARD_DATA_CODES.includes(code) ? 'invalid_card_data' : 'card_declined';
}
