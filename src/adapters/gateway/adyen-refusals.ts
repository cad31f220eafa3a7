import type { DeclineReason, Declined } from '../../domain/outcome.ts';

/**
 * Adyen's refusal reasons as data: code, name, and whether the same card may be tried again. Codes and names are those
 * of https://docs.adyen.com/development-resources/refusal-reasons, as of 2026-11; Adyen names no classes, so `hard` is
 * what takes another card, other data, another amount or a person, and `soft` what may be otherwise later.
 * Code 0 comes with approvals and means nothing.
 */
const REFUSALS: Readonly<Record<string, readonly [name: string, class_: Declined['class']]>> = {
  2: ['refused', 'soft'],
  3: ['referral', 'soft'],
  4: ['acquirer_error', 'soft'],
  5: ['blocked_card', 'hard'],
  6: ['expired_card', 'hard'],
  7: ['invalid_amount', 'hard'],
  8: ['invalid_card_number', 'hard'],
  9: ['issuer_unavailable', 'soft'],
  10: ['not_supported', 'hard'],
  11: ['3d_not_authenticated', 'soft'],
  12: ['not_enough_balance', 'soft'],
  14: ['acquirer_fraud', 'hard'],
  15: ['cancelled', 'soft'],
  16: ['shopper_cancelled', 'soft'],
  17: ['invalid_pin', 'hard'],
  18: ['pin_tries_exceeded', 'hard'],
  19: ['pin_validation_not_possible', 'hard'],
  20: ['fraud', 'hard'],
  21: ['not_submitted', 'soft'],
  22: ['fraud_cancelled', 'hard'],
  23: ['transaction_not_permitted', 'hard'],
  24: ['cvc_declined', 'hard'],
  25: ['restricted_card', 'hard'],
  26: ['revocation_of_auth', 'hard'],
  27: ['declined_non_generic', 'soft'],
  28: ['withdrawal_amount_exceeded', 'soft'],
  29: ['withdrawal_count_exceeded', 'soft'],
  31: ['issuer_suspected_fraud', 'hard'],
  32: ['avs_declined', 'hard'],
  33: ['card_requires_online_pin', 'hard'],
  34: ['no_checking_account_available', 'hard'],
  35: ['no_savings_account_available', 'hard'],
  36: ['mobile_pin_required', 'hard'],
  37: ['contactless_fallback', 'hard'],
  38: ['authentication_required', 'soft'],
  39: ['rreq_not_received', 'soft'],
  40: ['aid_in_penalty_box', 'soft'],
  41: ['cvm_required', 'hard'],
  42: ['3ds_authentication_error', 'soft'],
  43: ['online_pin_required', 'hard'],
  44: ['try_another_interface', 'hard'],
  45: ['chip_downgrade_mode', 'hard'],
  46: ['blocked_to_prevent_retry_fees', 'hard'],
  50: ['token_revoked', 'hard'],
};

const AUTHENTICATION_CODES: readonly string[] = ['11', '38', '39', '42'];
const CARD_DATA_CODES: readonly string[] = ['8'];

/** A refusal by its code, undefined for none: what it means, and `12_not_enough_balance` for people. */
export function refusal(reasonCode: string | undefined): Pick<Declined, 'reason' | 'class' | 'code'> {
  const [name, class_] = REFUSALS[reasonCode ?? ''] ?? ['unknown', 'unknown'];
  return { reason: reasonOf(reasonCode ?? ''), class: class_, code: `${reasonCode ?? 'none'}_${name}` };
}

function reasonOf(reasonCode: string): DeclineReason {
  if (AUTHENTICATION_CODES.includes(reasonCode)) return 'authentication_required';
  return CARD_DATA_CODES.includes(reasonCode) ? 'invalid_card_data' : 'card_declined';
}

/**
 * Error codes of a request that was refused because of a card field: invalid number, number of no known brand, CVC of
 * a wrong length, invalid expiry date. Source: https://docs.adyen.com/development-resources/error-codes, as of 2026-11.
 */
export const CARD_FIELD_ERRORS: readonly string[] = ['101', '102', '103', '129'];
