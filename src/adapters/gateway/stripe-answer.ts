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
  readonly created?: Stripe.PaymentIntent['created'] | undefined;
  readonly metadata: {
    readonly order_id?: Stripe.Metadata[string] | undefined;
    readonly idempotency_key?: Stripe.Metadata[string] | undefined;
  };
  readonly latest_charge?: ChargeAnswer | undefined;
  readonly last_payment_error?: ErrorAnswer | undefined;
};

/** What is read of an expanded charge: seconds since the epoch. */
export interface ChargeAnswer {
  readonly payment_method_details: {
    readonly card: {
      readonly [Name in keyof Pick<Stripe.Charge.PaymentMethodDetails.Card, 'capture_before'>]-?: number;
    };
  };
}

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

/** The intents that a search found; undefined when the answer is none, or not all of them are in it and readable. */
export function readFoundIntents(answered: Answered): readonly IntentAnswer[] | undefined {
  const found = searchResult.safeParse(readJson(answered)).data;
  return found?.has_more === false ? found.data : undefined;
}

/** A page of intents; undefined when the answer is none, or one of them is not readable. */
export function readIntentPage(
  answered: Answered,
): { readonly intents: readonly IntentAnswer[]; readonly hasMore: boolean } | undefined {
  const page = intentPage.safeParse(readJson(answered)).data;
  return page && { intents: page.data, hasMore: page.has_more };
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

/** A time that a Date can hold, in seconds. */
const seconds = z.int().min(0).max(8_640_000_000_000);

const charge = z.object({
  payment_method_details: z.object({ card: z.object({ capture_before: seconds }) }),
});

const intent = z.object({
  object: z.literal('payment_intent').optional(),
  id: reference,
  status: z.string().max(64),
  amount: z.int(),
  amount_capturable: z.int().optional(),
  currency: z.string().max(8),
  created: seconds.optional().catch(undefined),
  metadata: z.object({ order_id: z.string().optional(), idempotency_key: z.string().optional() }),
  // A string, the charge's id, where it was not expanded.
  latest_charge: charge.optional().catch(undefined),
  last_payment_error: lastError.optional().catch(undefined),
});

const searchResult = z.object({
  object: z.literal('search_result').optional(),
  data: z.array(intent),
  has_more: z.boolean(),
});

const intentPage = z.object({ object: z.literal('list'), data: z.array(intent), has_more: z.boolean() });

const errorBody = z.object({
  error: lastError.extend({ payment_intent: intent.optional().catch(undefined) }),
});
