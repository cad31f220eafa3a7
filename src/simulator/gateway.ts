/** Stripe's payment intents API, as far as an authorizing client needs it, with state. */
import { hash } from 'node:crypto';
import { admit } from './admission.ts';
import { readAdyenPayment } from './adyen-payment-order.ts';
import { noSuchPayment } from './adyen-answer.ts';
import { keyInUse, keyMismatch, type Answer, type ErrorAnswer } from './answer.ts';
import { charge, type ChargeContext } from './charge.ts';
import { readChargeOrder } from './charge-order.ts';
import type { Fault } from './fault-script.ts';
import { canonicalForm } from './form.ts';
import type { GatewayRequest } from './gateway-request.ts';
import type { Holds } from './holds.ts';
import type { IdempotencyKeys } from './idempotency-keys.ts';
import { list, retrieve, search, searchedOrderId, unknownUrl } from './inquiries.ts';
import { orderIdOf } from './payment-intent.ts';
import { noSuchIntent, voidIntent } from './void.ts';

export interface Outcome {
  readonly answer: Answer;
  /** The answer was kept under the key; nothing was executed this time. */
  readonly replayed: boolean;
}

export interface GatewayContext extends ChargeContext {
  readonly keys: IdempotencyKeys;
  readonly holds: Holds;
  /** An unused pspReference. */
  readonly newPspReference: () => string;
  /** New intents are found by search only after so long. */
  readonly searchLagMs: number;
}

export async function execute(
  request: GatewayRequest,
  fault: Fault | undefined,
  context: GatewayContext,
): Promise<Outcome> {
  const refused = admit(request);
  if (refused !== undefined) return { answer: refused, replayed: false };
  const { operation } = request;
  switch (operation.name) {
    case 'charge':
      return executeOnce(request, fault, context, planCharge(request, fault, context));
    case 'cancel':
      return executeOnce(request, fault, context, planVoid(operation.intentId, request, context));
    default:
      await pause(fault, context);
      return { answer: inquire(request, context), replayed: false };
  }
}

/** The order a request is about: for faults and for the log. */
export function orderIdOfRequest(request: GatewayRequest, { intents }: GatewayContext): string | undefined {
  const { operation, params } = request;
  if (operation.name === 'charge') return request.chargedOrderId;
  if (operation.name === 'search') return searchedOrderId(params);
  if (operation.name !== 'retrieve' && operation.name !== 'cancel') return undefined;
  const intent = intents.get(operation.intentId);
  return intent === undefined ? undefined : orderIdOf(intent);
}

/** What is to be executed, or why nothing is. */
type Plan = ErrorAnswer | ((paramsDigest: string) => Promise<Answer>);

/** The rules of idempotency-keys.ts around one execution. */
async function executeOnce(
  request: GatewayRequest,
  fault: Fault | undefined,
  context: GatewayContext,
  plan: Plan,
): Promise<Outcome> {
  const { keys, now } = context;
  const { idempotencyKey: key, method, path, params } = request;
  const paramsDigest = hash('sha256', `${method} ${path} ${canonicalForm(params)}`);
  // Adyen documents that a key brings the first answer back, and no check of what it is sent with.
  const use = keys.look(key, request.dialect === 'adyen' ? undefined : paramsDigest, now());
  switch (use.kind) {
    case 'mismatch':
      return { answer: keyMismatch(use.key), replayed: false };
    case 'in-use':
      return { answer: keyInUse(use.key), replayed: false };
    case 'replay':
      await pause(fault, context);
      return { answer: use.answer, replayed: true };
    case 'free':
      break;
  }
  if (typeof plan !== 'function') return { answer: plan, replayed: false };
  const keep = keys.claim(key, paramsDigest, now());
  await pause(fault, context);
  const answer = await plan(paramsDigest);
  keep(answer);
  return { answer, replayed: false };
}

async function pause(fault: Fault | undefined, { timers, holds }: GatewayContext): Promise<void> {
  if (fault?.kind === 'delay') await timers.wait(fault.ms);
  if (fault?.kind === 'hold-in-flight') await holds.hold();
}

function planCharge(request: GatewayRequest, fault: Fault | undefined, context: GatewayContext): Plan {
  const isAdyen = request.dialect === 'adyen';
  const order = isAdyen ? readAdyenPayment(request.json) : readChargeOrder(request.params);
  if (order.kind === 'error') return order;
  const { idempotencyKey } = request;
  const newIntentId = isAdyen ? context.newPspReference : context.newIntentId;
  return (paramsDigest) =>
    charge({ order, idempotencyKey, paramsDigest, fault }, { ...context, newIntentId });
}

function planVoid(intentId: string, request: GatewayRequest, context: GatewayContext): Plan {
  const intent = context.intents.get(intentId);
  if (intent === undefined) return request.dialect === 'adyen' ? noSuchPayment() : noSuchIntent(intentId);
  const { idempotencyKey } = request;
  // Adyen takes any number of them on, and sorts it out later.
  if (request.dialect === 'adyen' && intent.status === 'canceled') {
    return () => Promise.resolve({ kind: 'intent', intent });
  }
  return (paramsDigest) => voidIntent({ intentId, idempotencyKey, paramsDigest }, context);
}

function inquire(request: GatewayRequest, { intents, now, searchLagMs }: GatewayContext): Answer {
  const { operation, params } = request;
  switch (operation.name) {
    case 'retrieve':
      return retrieve(operation.intentId, intents);
    case 'search':
      return search(params, intents, now() - searchLagMs);
    case 'list':
      return list(params, intents);
    default:
      return unknownUrl(request);
  }
}
