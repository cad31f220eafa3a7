import type { Amount } from '@adyen/api-library/lib/src/typings/checkout/amount.js';
import type { PaymentCancelResponse } from '@adyen/api-library/lib/src/typings/checkout/paymentCancelResponse.js';
import type { PaymentResponse } from '@adyen/api-library/lib/src/typings/checkout/paymentResponse.js';
import type { ServiceError } from '@adyen/api-library/lib/src/typings/checkout/serviceError.js';
import { z } from 'zod';
import type { Answered } from './http-exchange.ts';
import { readJson } from './json-answer.ts';

/**
 * What is read of a payment; all else in the answer is ignored, texts for people above all. Names and types are the
 * official client's; the result is any word, since the gateway may have new ones.
 */
export type PaymentAnswer = {
  readonly [
    Name in keyof Pick<PaymentResponse, 'pspReference' | 'merchantReference' | 'refusalReasonCode'>
  ]?: string | undefined;
} & { readonly [Name in keyof Pick<PaymentResponse, 'amount'>]?: Amount | undefined } & Readonly<
    Record<keyof Pick<PaymentResponse, 'resultCode'>, string>
  >;

/** What is read of an error. A code that is none (`code` below) counts as absent. */
export type ErrorAnswer = {
  readonly [Name in keyof Pick<ServiceError, 'errorCode' | 'errorType'>]?: string | undefined;
};

/** The payment in an answer; undefined when it holds none that can be relied on. */
export function readPayment(answered: Answered): PaymentAnswer | undefined {
  return payment.safeParse(readJson(answered)).data;
}

/** The error in an answer; undefined when it holds none, a proxy's page for example. */
export function readError(answered: Answered): ErrorAnswer | undefined {
  return error.safeParse(readJson(answered)).data;
}

/** The payment whose cancelling was accepted; undefined when none was. */
export function readCancelled(answered: Answered): string | undefined {
  return cancel.safeParse(readJson(answered)).data?.paymentPspReference;
}

/** An id that may stand in a URL and in the database, and is no card number: anything else is not one. */
const reference = z.string().regex(/^(?!\d+$)[\w-]{1,255}$/);
/** `12`, `101`, `905_1`, `14_006`: too short for a card number, and from a list, where a text could quote anything. */
const code = z.string().regex(/^\d{1,3}(_\d{1,3})?$/);

const payment = z.object({
  resultCode: z.string().max(64),
  pspReference: reference.optional(),
  merchantReference: z.string().max(80).optional(),
  amount: z
    .object({ currency: z.string().max(8), value: z.int() })
    .nullish()
    .transform(orUndefined),
  refusalReasonCode: code.optional().catch(undefined),
});

const error = z.object({
  status: z.int(),
  errorCode: code.optional().catch(undefined),
  errorType: z
    .string()
    .regex(/^[a-z]{1,32}$/)
    .optional()
    .catch(undefined),
});

const cancel = z.object({
  paymentPspReference: reference,
  status: z.literal<`${PaymentCancelResponse.StatusEnum}`>('received'),
});

function orUndefined<T>(value: T | null | undefined): T | undefined {
  return value ?? undefined;
}
