/**
 * The card network and the issuing bank behind the simulated gateway: what becomes of a card.
 *
 * Stripe's published test cards and tokens (https://docs.stripe.com/testing) answer as documented there. Any
 * other card is judged by its own data: length and Luhn digit, CVC length, expiry. Everything else approves.
 */

export interface Card {
  /** The digits as they arrived; lives only as long as its request. */
  readonly number: string;
  readonly expMonth: number;
  /** Four digits. */
  readonly expYear: number;
  readonly cvc: string | undefined;
}

/** Stripe's words for a declined card: https://docs.stripe.com/declines/codes */
export interface Decline {
  readonly code: string;
  readonly declineCode?: string;
  readonly adviceCode?: 'confirm_card_data' | 'do_not_try_again' | 'try_again_later' | undefined;
  /** The card network's own codes, two characters each. */
  readonly networkAdviceCode?: string | undefined;
  readonly networkDeclineCode?: string | undefined;
  readonly message: string;
  readonly param?: string;
}

export type Verdict =
  | { readonly kind: 'approve' }
  | { readonly kind: 'authenticate' }
  | { readonly kind: 'decline'; readonly decline: Decline };

/**
 * The worker's canonical order carries this card, unknown to any brand and expired in 01/2014. It belongs to
 * the simulator, not to Stripe, and approves whatever its expiry.
 */
export const SIMULATOR_TEST_CARD = '1111222233334444';

/** @param now decides whether a card has expired; a card is good until its month ends, UTC. */
export function judge(card: Card, now: Date): Verdict {
  const scripted = TEST_CARDS.get(card.number);
  return malformed(card) ?? expired(card, now) ?? scripted ?? APPROVE;
}

/** The test card behind a published test token (`pm_card_visa`), or undefined: no such payment method. */
export function cardOfToken(token: string): Card | undefined {
  const number = TEST_TOKENS.get(token);
  return number === undefined ? undefined : { number, expMonth: 12, expYear: 2099, cvc: undefined };
}

function malformed(card: Card): Verdict | undefined {
  if (!/^\d{12,19}$/.test(card.number) || !passesLuhn(card.number)) return INCORRECT_NUMBER;
  if (card.expMonth < 1 || card.expMonth > 12) return INVALID_EXPIRY_MONTH;
  if (card.expYear < 1970 || card.expYear > 2100) return INVALID_EXPIRY_YEAR;
  const cvcLength = isAmex(card.number) ? 4 : 3;
  if (card.cvc !== undefined && !(/^\d+$/.test(card.cvc) && card.cvc.length === cvcLength))
    return INVALID_CVC;
  return undefined;
}

function expired(card: Card, now: Date): Verdict | undefined {
  if (card.number === SIMULATOR_TEST_CARD) return undefined;
  const monthsLeft = (card.expYear - now.getUTCFullYear()) * 12 + card.expMonth - (now.getUTCMonth() + 1);
  return monthsLeft < 0 ? EXPIRED : undefined;
}

function passesLuhn(digits: string): boolean {
  let sum = 0;
  for (let fromRight = 0; fromRight < digits.length; fromRight++) {
    const digit = digits.charCodeAt(digits.length - 1 - fromRight) - 48;
    const weighted = fromRight % 2 === 0 ? digit : digit * 2;
    sum += weighted > 9 ? weighted - 9 : weighted;
  }
  return sum % 10 === 0;
}

function isAmex(number: string): boolean {
  return number.startsWith('34') || number.startsWith('37');
}

function declined(decline: Decline): Verdict {
  return { kind: 'decline', decline };
}

const APPROVE: Verdict = { kind: 'approve' };
const INCORRECT_NUMBER = declined({
  code: 'incorrect_number',
  message: 'Your card number is incorrect.',
  param: 'number',
});
const INVALID_EXPIRY_MONTH = declined({
  code: 'invalid_expiry_month',
  message: "Your card's expiration month is invalid.",
  param: 'exp_month',
});
const INVALID_EXPIRY_YEAR = declined({
  code: 'invalid_expiry_year',
  message: "Your card's expiration year is invalid.",
  param: 'exp_year',
});
const INVALID_CVC = declined({
  code: 'invalid_cvc',
  message: "Your card's security code is invalid.",
  param: 'cvc',
});
const EXPIRED = declined({
  code: 'expired_card',
  declineCode: 'expired_card',
  adviceCode: 'confirm_card_data',
  message: 'Your card has expired.',
  param: 'exp_month',
});

function cardDeclined(declineCode: string, adviceCode: NonNullable<Decline['adviceCode']>): Verdict {
  return declined({ code: 'card_declined', declineCode, adviceCode, message: 'Your card was declined.' });
}

const TEST_CARDS: ReadonlyMap<string, Verdict> = new Map([
  ['4000000000000002', cardDeclined('generic_decline', 'try_again_later')],
  ['4000000000009987', cardDeclined('lost_card', 'do_not_try_again')],
  ['4000000000009979', cardDeclined('stolen_card', 'do_not_try_again')],
  [
    '4000000000009995',
    declined({
      code: 'card_declined',
      declineCode: 'insufficient_funds',
      adviceCode: 'try_again_later',
      message: 'Your card has insufficient funds.',
    }),
  ],
  ['4000000000000069', EXPIRED],
  [
    '4000000000000127',
    declined({
      code: 'incorrect_cvc',
      declineCode: 'incorrect_cvc',
      adviceCode: 'confirm_card_data',
      message: "Your card's security code is incorrect.",
      param: 'cvc',
    }),
  ],
  [
    '4000000000000119',
    declined({
      code: 'processing_error',
      declineCode: 'processing_error',
      adviceCode: 'try_again_later',
      message: 'An error occurred while processing your card. Try again in a little bit.',
    }),
  ],
  ['4000002500003155', { kind: 'authenticate' }],
  ['4000002760003184', { kind: 'authenticate' }],
]);

const TEST_TOKENS: ReadonlyMap<string, string> = new Map([
  ['pm_card_visa', '4242424242424242'],
  ['pm_card_mastercard', '5555555555554444'],
  ['pm_card_amex', '378282246310005'],
  ['pm_card_visa_chargeDeclined', '4000000000000002'],
  ['pm_card_visa_chargeDeclinedInsufficientFunds', '4000000000009995'],
  ['pm_card_visa_chargeDeclinedLostCard', '4000000000009987'],
  ['pm_card_visa_chargeDeclinedStolenCard', '4000000000009979'],
  ['pm_card_chargeDeclinedExpiredCard', '4000000000000069'],
  ['pm_card_chargeDeclinedIncorrectCvc', '4000000000000127'],
  ['pm_card_chargeDeclinedProcessingError', '4000000000000119'],
  ['pm_card_authenticationRequiredOnSetup', '4000002500003155'],
  ['pm_card_authenticationRequired', '4000002760003184'],
]);
