/** The execution of a charge: what the issuer says, bent by a fault, becomes an intent and a ledger line. */
import { hash } from 'node:crypto';
import { INTERNAL_ERROR, type Answer } from './answer.ts';
import type { ChargeOrder } from './charge-order.ts';
import type { Fault } from './fault-script.ts';
import type { IntentStore } from './intent-store.ts';
import { judge, type Card, type Decline } from './issuer.ts';
import type { ApprovalEntry, Ledger } from './ledger.ts';
import { orderIdOf, type Intent, type IntentStatus } from './payment-intent.ts';
import type { Timers } from './timers.ts';

export interface ChargeContext {
  readonly intents: IntentStore;
  readonly ledger: Pick<Ledger, 'append'>;
  readonly timers: Timers;
  readonly now: () => number;
  /** An unused id: `pi_...`. */
  readonly newIntentId: () => string;
}

export interface ChargeRequest {
  readonly order: ChargeOrder;
  readonly idempotencyKey: string | undefined;
  readonly paramsDigest: string;
  readonly fault: Fault | undefined;
}

export async function charge(request: ChargeRequest, context: ChargeContext): Promise<Answer> {
  const { order, fault } = request;
  if (fault?.kind === 'cached-500') return INTERNAL_ERROR;
  const nowMs = context.now();
  const fresh = unconfirmed(order, context.newIntentId(), nowMs);
  if (!order.confirm) return keep(fresh, context);

  const verdict = judge(order.card, new Date(nowMs));
  if (verdict.kind === 'decline') return decline(fresh, verdict.decline, context);
  if (verdict.kind === 'authenticate') {
    if (order.unattended) return decline(fresh, AUTHENTICATION_REQUIRED, context);
    return keep({ ...fresh, status: 'requires_action' }, context);
  }
  return approve(fresh, request, context);
}

/** The issuer agreed; a fault may still make something else of it. */
async function approve(fresh: Intent, request: ChargeRequest, context: ChargeContext): Promise<Answer> {
  const { order, fault } = request;
  const whole = approved(fresh, order);
  switch (fault?.kind) {
    case 'unknown-decline-code':
      return decline(
        fresh,
        { ...UNKNOWN_DECLINE, declineCode: fault.declineCode ?? 'moon_phase_adverse' },
        context,
      );
    case 'decline': {
      const { declineCode, adviceCode, networkAdviceCode, networkDeclineCode } = fault;
      const words = { declineCode, adviceCode, networkAdviceCode, networkDeclineCode };
      return decline(fresh, { ...GENERIC_DECLINE, ...words }, context);
    }
    case 'requires-action':
      return keep({ ...fresh, status: 'requires_action' }, context);
    case 'pending':
    case 'unknown-status': {
      const status: IntentStatus = fault.kind === 'pending' ? 'processing' : 'requires_oracle';
      if (fault.settle !== undefined) settleLater(fresh, fault.settle, request, context);
      return keep({ ...fresh, status }, context);
    }
    case 'wrong-amount': {
      const amountMinor = fault.amountMinor ?? order.amountMinor + 1;
      return record({ ...whole, amountMinor, heldMinor: amountMinor }, request, context);
    }
    case 'wrong-currency': {
      const currency = fault.currency?.toLowerCase() ?? (order.currency === 'eur' ? 'usd' : 'eur');
      return record({ ...whole, currency }, request, context);
    }
    case 'partial': {
      const heldMinor = fault.heldMinor ?? Math.ceil(order.amountMinor / 2);
      return record({ ...whole, heldMinor }, request, context);
    }
    case 'charge-then-500':
      await record(whole, request, context);
      return INTERNAL_ERROR;
    default:
      return record(whole, request, context);
  }
}

function settleLater(
  fresh: Intent,
  settle: { as: 'approved' | 'declined'; afterMs: number },
  request: ChargeRequest,
  context: ChargeContext,
): void {
  context.timers.after(settle.afterMs, async () => {
    // A void that came in the meantime stands.
    if (context.intents.get(fresh.id)?.status === 'canceled') return;
    if (settle.as === 'approved') await record(approved(fresh, request.order), request, context);
    else decline(fresh, GENERIC_DECLINE, context);
  });
}

/** The one place where money is set aside: the ledger has the line before anybody sees the intent. */
async function record(intent: Intent, request: ChargeRequest, context: ChargeContext): Promise<Answer> {
  await context.ledger.append(approvalEntry(intent, request, context.now()));
  return keep(intent, context);
}

function keep(intent: Intent, { intents }: ChargeContext): Answer {
  intents.put(intent);
  return { kind: 'intent', intent };
}

function decline(fresh: Intent, words: Decline, { intents }: ChargeContext): Answer {
  const intent: Intent = { ...fresh, status: 'requires_payment_method', decline: words };
  intents.put(intent);
  return { kind: 'declined', intent };
}

function unconfirmed(order: ChargeOrder, id: string, createdAtMs: number): Intent {
  const { amountMinor, currency, captureMethod, metadata } = order;
  return {
    id,
    createdAtMs,
    status: 'requires_confirmation',
    amountMinor,
    heldMinor: 0,
    currency,
    captureMethod,
    metadata,
  };
}

function approved(fresh: Intent, order: ChargeOrder): Intent {
  const status = order.captureMethod === 'manual' ? 'requires_capture' : 'succeeded';
  return { ...fresh, status, heldMinor: order.amountMinor };
}

function approvalEntry(intent: Intent, request: ChargeRequest, nowMs: number): ApprovalEntry {
  const { order, fault } = request;
  return {
    kind: 'approval',
    at: new Date(nowMs).toISOString(),
    createdAt: new Date(intent.createdAtMs).toISOString(),
    authorizationId: intent.id,
    orderId: orderIdOf(intent) ?? null,
    idempotencyKey: request.idempotencyKey ?? null,
    paramsDigest: request.paramsDigest,
    amountMinor: intent.heldMinor,
    currency: intent.currency,
    requestedAmountMinor: order.amountMinor,
    requestedCurrency: order.currency,
    intentAmountMinor: intent.amountMinor,
    status: intent.status,
    captureMethod: intent.captureMethod,
    metadata: intent.metadata,
    paymentMethod: order.token ?? null,
    ...cardTrace(order.card),
    fault: fault?.kind ?? null,
  };
}

function cardTrace({ number, cvc, expMonth, expYear }: Card) {
  return {
    cardDigest: hash('sha256', number),
    cardLength: number.length,
    last4: number.slice(-4),
    cvcDigest: cvc === undefined ? null : hash('sha256', cvc),
    cvcLength: cvc?.length ?? 0,
    expMonth,
    expYear,
  };
}

/** Off session nobody can authenticate, so the bank's wish for it is a decline, and the intent waits for a card. */
const AUTHENTICATION_REQUIRED: Decline = {
  code: 'authentication_required',
  declineCode: 'authentication_required',
  message: 'Your card was declined. This transaction requires authentication.',
};
const GENERIC_DECLINE: Decline = {
  code: 'card_declined',
  declineCode: 'generic_decline',
  message: 'Your card was declined.',
};
const UNKNOWN_DECLINE: Decline = { code: 'card_declined', message: 'Your card was declined.' };
