import { badRequest, notFound, type Answer, type ErrorAnswer } from './answer.ts';
import type { ChargeContext } from './charge.ts';
import { orderIdOf, type Intent } from './payment-intent.ts';

export interface VoidRequest {
  readonly intentId: string;
  readonly idempotencyKey: string | undefined;
  readonly paramsDigest: string;
}

/** Cancels an intent; what it holds is released, and the ledger says so. */
export async function voidIntent(request: VoidRequest, context: ChargeContext): Promise<Answer> {
  const { intents, ledger, now } = context;
  const intent = intents.get(request.intentId);
  if (intent === undefined) return noSuchIntent(request.intentId);
  if (intent.status === 'canceled' || intent.status === 'succeeded') return notCancelable(intent);
  const canceledAtMs = now();
  const canceled: Intent = { ...intent, status: 'canceled', canceledAtMs };
  // Before the ledger is written, so that a second void at the same moment finds it canceled.
  intents.put(canceled);
  if (intent.status === 'requires_capture') {
    await ledger.append({
      kind: 'void',
      at: new Date(canceledAtMs).toISOString(),
      authorizationId: intent.id,
      orderId: orderIdOf(intent) ?? null,
      idempotencyKey: request.idempotencyKey ?? null,
      paramsDigest: request.paramsDigest,
      amountMinor: intent.heldMinor,
      currency: intent.currency,
    });
  }
  return { kind: 'intent', intent: canceled };
}

export function noSuchIntent(intentId: string): ErrorAnswer {
  return notFound(`No such payment_intent: '${intentId}'`);
}

function notCancelable({ status }: Intent): ErrorAnswer {
  const message =
    `You cannot cancel this PaymentIntent because it has a status of ${status}. Only a PaymentIntent with one ` +
    'of the following statuses may be canceled: requires_payment_method, requires_capture, ' +
    'requires_confirmation, requires_action, processing.';
  return badRequest(message, undefined, 'payment_intent_unexpected_state');
}
