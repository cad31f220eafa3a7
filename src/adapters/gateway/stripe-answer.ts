import type Stripe from 'stripe';
import { z } from 'zod';
import type { Answered } from './http-exchange.ts';
import { readJson } from './json-answer.ts';

/**
 * What is read of an intent; all else in the answer is ignored. Names and types are the official client's; the status
 * is any word, since the gateway may have new ones.
 */
export type IntentAnswer = Pick<Stripe.PaymentIntent, 'id' | 'amount' | 'currency'> & {
  readonly status: string;
  readonly amount_capturable?: Stripe.PaymentIntent['amount_capturable'] | undefined;
  readonly metadata: { readonly order_id?: Stripe.Metadata[string] | undefined };
  readonly last_payment_error?: ErrorAnswer | undefined;
};

/** What is read of an error. A code that is no word (isGatewayWord) counts as absent. */
export type ErrorAnswer = {
  readonly [
    Name in keyof Pick<
      Stripe.StripeRawError,
      | 'type'
      | 'code'
      | 'decline_code'
      | 'advice_code'
      | 'network_advice_code'
      | 'network_decline_code'
      | 'param'
    >
  ]?: string | undefined;
} & { readonly [Name in keyof Pick<Stripe.StripeRawError, 'payment_intent'>]?: IntentAnswer | undefined };

/** The intent in an answer; undefined when it holds none that can be relied on. */
export function readIntent(answered: Answered): IntentAnswer | undefined {
  return intent.safeParse(readJson(answered)).data;
}

/** The error in an answer; undefined when it holds none, a proxy's page for example. */
export function readError(answered: Answered): ErrorAnswer | undefined {
  return errorBody.safeParse(readJson(answered)).data?.error;
}

/** Whether a text of the gateway's is a word that may be shown: no sentence, and with no number that could be of a card. */
export function isGatewayWord(text: string): boolean {
  return /^[a-z0-9_]{1,64}$/.test(text) && !/\d{3}/.test(text);
}

/** An id that may stand in a URL and in the database, and is no card number: anything else is not one. */
const reference = z.string().regex(/^(?!\d+$)[\w-]{1,255}$/);
const code = z.string().refine(isGatewayWord);
const optionalCode = code.optional().catch(undefined);

/** Two characters, of which some networks write letters as capitals. */
const networkCode = z
  .string()
  .regex(/^[0-9A-Z]{2}$/)
  .optional()
  .catch(undefined);

const lastError = z.object({
  type: optionalCode,
  code: optionalCode,
  decline_code: optionalCode,
  advice_code: optionalCode,
  network_advice_code: networkCode,
  network_decline_code: networkCode,
  param: z.string().max(200).optional().catch(undefined),
});

const intent = z.object({
  object: z.literal('payment_intent').optional(),
  id: reference,
  status: z.string().max(64),
  amount: z.int(),
  amount_capturable: z.int().optional(),
  currency: z.string().max(8),
  metadata: z.object({ order_id: z.string().optional() }),
  last_payment_error: lastError.optional().catch(undefined),
});

const errorBody = z.object({
  error: lastError.extend({ payment_intent: intent.optional().catch(undefined) }),
});
