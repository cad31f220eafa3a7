import type { Contradicted } from '../../domain/outcome.ts';
import type { PaymentAnswer } from './adyen-answer.ts';
import { referenceOf } from './adyen-dialect.ts';
import { refusal } from './adyen-refusals.ts';
import { settled, unknown } from './judgement.ts';
import type { Asked, Judgement } from './judgement.ts';

/**
 * The rows for an answer with 2xx, by its result; `payment` is undefined when there was none to read.
 * Source: https://docs.adyen.com/online-payments/build-your-integration/payment-result-codes, as of 2026-11.
 */
export function judgePayment(payment: PaymentAnswer | undefined, asked: Asked): Judgement {
  if (payment === undefined) {
    return settled(unknown('unreadable_answer', 'a 2xx answer without a payment result'));
  }
  if (isForeign(payment, asked)) return contradicted('order_mismatch', payment);
  switch (payment.resultCode) {
    case 'Authorised':
      return judgeHold(payment, asked);
    case 'PartiallyAuthorised':
      return giveUpPartialHold(payment);
    // Final results, all of them: nothing is held.
    case 'Refused':
    case 'Error':
    case 'Cancelled':
      return settled({
        kind: 'declined',
        ...refusal(payment.refusalReasonCode),
        ...referenceIn(payment),
      });
    case 'ChallengeShopper':
    case 'IdentifyShopper':
    case 'RedirectShopper':
      return dropChallenge(payment);
    default:
      return pending(payment);
  }
}

function judgeHold(payment: PaymentAnswer, asked: Asked): Judgement {
  const { pspReference, merchantReference, amount } = payment;
  if (pspReference === undefined || merchantReference === undefined || amount === undefined) {
    return settled(unknown('unreadable_answer', 'an approval without its reference, order or amount'));
  }
  if (amount.currency.toUpperCase() !== asked.currency) return contradicted('currency_mismatch', payment);
  if (BigInt(amount.value) !== asked.amountMinor) return contradicted('amount_mismatch', payment);
  return settled({ kind: 'approved', reference: pspReference });
}

/** A person looks at it either way: cancelling is only acknowledged, and done later. */
function giveUpPartialHold(payment: PaymentAnswer): Judgement {
  const outcome: Contradicted = {
    kind: 'contradicted',
    reason: 'partial_approval',
    ...referenceIn(payment),
  };
  if (payment.pspReference === undefined) return settled(outcome);
  return { kind: 'cancel', reference: payment.pspReference, confirmed: outcome, otherwise: outcome };
}

/**
 * A challenge needs no cancelling: only `/payments/details` with the data of this very answer could go on with it, and
 * that data goes no further. A same-key resend is answered with the same challenge.
 */
function dropChallenge(payment: PaymentAnswer): Judgement {
  return settled({
    kind: 'declined',
    reason: 'authentication_required',
    class: 'soft',
    code: 'authentication_required',
    ...referenceIn(payment),
  });
}

function pending({ resultCode }: PaymentAnswer): Judgement {
  const word = /^[A-Za-z]{1,64}$/.test(resultCode) ? resultCode : 'a result that is no word';
  return settled(unknown('pending', `the gateway has not decided: ${word}`));
}

function contradicted(reason: Contradicted['reason'], payment: PaymentAnswer): Judgement {
  return settled({ kind: 'contradicted', reason, ...referenceIn(payment) });
}

function isForeign({ merchantReference }: PaymentAnswer, { orderId }: Asked): boolean {
  return merchantReference !== undefined && merchantReference !== referenceOf(orderId);
}

function referenceIn({ pspReference }: PaymentAnswer): { readonly reference?: string } {
  return pspReference === undefined ? {} : { reference: pspReference };
}
