/**
 * A payment intent as Stripe's API shows it: https://docs.stripe.com/api/payment_intents/object
 *
 * An intent is immutable: a void makes a new one. So an idempotency key can keep the intent it was answered
 * with and render the same bytes again, even after a restart that rebuilt it from the ledger.
 */
import type { Decline } from './issuer.ts';

/** Stripe's words, and, under the fault `unknown-status`, a word that Stripe does not have. */
export type IntentStatus =
  | 'requires_payment_method'
  | 'requires_confirmation'
  | 'requires_action'
  | 'processing'
  | 'requires_capture'
  | 'succeeded'
  | 'canceled'
  | 'requires_oracle';

export interface Intent {
  readonly id: string;
  readonly createdAtMs: number;
  readonly status: IntentStatus;
  readonly amountMinor: number;
  /** What the issuer set aside: less than `amountMinor` after a partial approval, 0 without an approval. */
  readonly heldMinor: number;
  /** Lower case, as on the wire. */
  readonly currency: string;
  readonly captureMethod: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly decline?: Decline;
  readonly canceledAtMs?: number;
}

export function orderIdOf(intent: Intent): string | undefined {
  return intent.metadata['order_id'];
}

/** Every member that the official client's type demands; a test compares the two. */
export function intentBody(intent: Intent) {
  const { id, status, captureMethod } = intent;
  const suffix = id.slice('pi_'.length);
  const attempted = intent.heldMinor > 0 || intent.decline !== undefined;
  return {
    id,
    object: 'payment_intent',
    allowed_payment_method_types: null,
    amount: intent.amountMinor,
    amount_capturable: status === 'requires_capture' ? intent.heldMinor : 0,
    amount_details: { tip: {} },
    amount_received: status === 'succeeded' ? intent.heldMinor : 0,
    application: null,
    application_fee_amount: null,
    automatic_payment_methods: null,
    canceled_at: intent.canceledAtMs === undefined ? null : seconds(intent.canceledAtMs),
    cancellation_reason: null,
    capture_method: captureMethod,
    client_secret: `${id}_secret_simulated`,
    confirmation_method: 'automatic',
    created: seconds(intent.createdAtMs),
    currency: intent.currency,
    customer: null,
    customer_account: null,
    description: null,
    excluded_payment_method_types: null,
    last_payment_error: intent.decline === undefined ? null : cardErrorBody(intent.decline, suffix),
    latest_charge: attempted ? `ch_${suffix}` : null,
    livemode: false,
    managed_payments: null,
    metadata: intent.metadata,
    next_action:
      status === 'requires_action'
        ? { type: 'use_stripe_sdk', use_stripe_sdk: { type: 'three_d_secure_redirect' } }
        : null,
    on_behalf_of: null,
    payment_method: intent.decline === undefined ? `pm_${suffix}` : null,
    payment_method_configuration_details: null,
    payment_method_options: { card: { request_three_d_secure: 'automatic' } },
    payment_method_types: ['card'],
    payment_record: null,
    processing: null,
    receipt_email: null,
    review: null,
    setup_future_usage: null,
    shipping: null,
    source: null,
    statement_descriptor: null,
    statement_descriptor_suffix: null,
    status,
    transfer_data: null,
    transfer_group: null,
  };
}

/** The `error` of a 402 without the intent, and an intent's `last_payment_error`. */
export function cardErrorBody(decline: Decline, suffix: string): object {
  return {
    ...(decline.adviceCode === undefined ? {} : { advice_code: decline.adviceCode }),
    charge: `ch_${suffix}`,
    code: decline.code,
    ...(decline.declineCode === undefined ? {} : { decline_code: decline.declineCode }),
    doc_url: `https://stripe.com/docs/error-codes/${decline.code.replaceAll('_', '-')}`,
    message: decline.message,
    ...(decline.networkAdviceCode === undefined ? {} : { network_advice_code: decline.networkAdviceCode }),
    ...(decline.networkDeclineCode === undefined ? {} : { network_decline_code: decline.networkDeclineCode }),
    ...(decline.param === undefined ? {} : { param: decline.param }),
    type: 'card_error',
  };
}

function seconds(atMs: number): number {
  return Math.floor(atMs / 1000);
}
