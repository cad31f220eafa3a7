/**
 * Faults as data: a list of rules, first match wins, read from JSON.
 *
 * A rule says which requests it meets (`match`), what goes wrong with them (`fault`) and how often at most
 * (`times`). Where the fault sits decides what it means for the cardholder:
 *
 * - at the edge, before the request is looked at: nothing is charged, nothing is stored under the key;
 * - in the verdict, while it executes: the answer is stored under the key and replayed;
 * - on the wire, after it executed as if nothing were wrong: charged, if the card is good, and stored.
 */
import { z } from 'zod';

const milliseconds = z.number().int().min(0).max(86_400_000);

const edgeFault = z.discriminatedUnion('kind', [
  /** The socket is closed. */
  z.strictObject({ kind: z.literal('drop-before-charge'), reset: z.boolean().optional() }),
  /** Waits for `POST /__release`, then goes on as usual; forgotten if the client hangs up first. */
  z.strictObject({ kind: z.literal('hold-before-charge') }),
  z.strictObject({ kind: z.literal('429'), retryAfter: z.union([z.number(), z.string()]).optional() }),
  z.strictObject({ kind: z.literal('401') }),
  z.strictObject({ kind: z.literal('403') }),
  z.strictObject({ kind: z.literal('404') }),
  /** To `/__redirected` of this server, where a client that follows shows up in `GET /__requests`. */
  z.strictObject({
    kind: z.literal('redirect'),
    status: z.union([z.literal(302), z.literal(307)]).optional(),
  }),
  /** An error whose message quotes the card number. */
  z.strictObject({ kind: z.literal('echo-pan'), status: z.number().int().min(400).max(599).optional() }),
  /** A proxy's page. With `charged`, the request was executed behind it, and it belongs to the wire. */
  z.strictObject({ kind: z.literal('html-502'), charged: z.boolean().optional() }),
]);

/** What a pending authorization becomes, and when; without it, it stays pending. */
const settle = z.strictObject({ as: z.enum(['approved', 'declined']), afterMs: milliseconds }).optional();

const verdictFault = z.discriminatedUnion('kind', [
  /** A slow issuer: the key is in use for so long, and the charge happens at the end, client or no client. */
  z.strictObject({ kind: z.literal('delay'), ms: milliseconds }),
  /** The same, until `POST /__release`. */
  z.strictObject({ kind: z.literal('hold-in-flight') }),
  /** An internal error, and no charge. */
  z.strictObject({ kind: z.literal('cached-500') }),
  /** An internal error after the charge. */
  z.strictObject({ kind: z.literal('charge-then-500') }),
  /** Approves another amount: `amountMinor`, or one minor unit more than asked. */
  z.strictObject({ kind: z.literal('wrong-amount'), amountMinor: z.number().int().min(1).optional() }),
  /** Approves in another currency: `currency`, or EUR (USD for an order in EUR). */
  z.strictObject({ kind: z.literal('wrong-currency'), currency: z.string().length(3).optional() }),
  /** Holds less than asked: `heldMinor`, or half. */
  z.strictObject({ kind: z.literal('partial'), heldMinor: z.number().int().min(1).optional() }),
  z.strictObject({ kind: z.literal('pending'), settle }),
  z.strictObject({ kind: z.literal('requires-action') }),
  /** A status word that Stripe does not have; not charged unless it settles as approved. */
  z.strictObject({ kind: z.literal('unknown-status'), settle }),
  /** The issuer declines a card that it would approve; with `times` on the rule, it does so no more after that. */
  z.strictObject({
    kind: z.literal('decline'),
    declineCode: z.string(),
    adviceCode: z.enum(['confirm_card_data', 'do_not_try_again', 'try_again_later']).optional(),
    networkAdviceCode: z.string().length(2).optional(),
    networkDeclineCode: z.string().length(2).optional(),
  }),
  z.strictObject({ kind: z.literal('unknown-decline-code'), declineCode: z.string().optional() }),
]);

const wireFault = z.discriminatedUnion('kind', [
  /** The socket is closed without an answer. */
  z.strictObject({ kind: z.literal('charge-then-drop'), reset: z.boolean().optional() }),
  /** No answer until `POST /__release` or until the client hangs up. */
  z.strictObject({ kind: z.literal('hold') }),
  /** Half a header, then silence. */
  z.strictObject({ kind: z.literal('stalled-headers') }),
  /** Headers and half the body, then silence. */
  z.strictObject({ kind: z.literal('stalled-body') }),
  /** Headers and half the body, then the end of the connection. */
  z.strictObject({ kind: z.literal('cut-body') }),
  /** Bytes that are no HTTP, or, with `where: "body"`, a 200 whose body is no JSON. */
  z.strictObject({ kind: z.literal('garbage'), where: z.enum(['wire', 'body']).optional() }),
  z.strictObject({ kind: z.literal('empty-body') }),
  /** The right body under the wrong name: `text/plain`. */
  z.strictObject({ kind: z.literal('wrong-content-type') }),
  /** The right body, padded to `bytes` (default 2 MiB). */
  z.strictObject({
    kind: z.literal('huge-body'),
    bytes: z.number().int().min(1024).max(67_108_864).optional(),
  }),
]);

/** The path a charge is posted to, in Stripe's dialect. */
export const CHARGE_PATH = '/v1/payment_intents';

/** Whether a charge is posted to it, in any dialect. */
export function isChargePath(path: string): boolean {
  return path === CHARGE_PATH || ADYEN_PATH.exec(path)?.groups?.['cancelled'] === '';
}

/** Adyen's Checkout API, with the version and live prefix that clients put in front, of a payment or its cancelling. */
export const ADYEN_PATH =
  /^(?:\/checkout)?(?:\/v\d+)?\/payments(?<cancelled>(?:\/(?<pspReference>[^/]{1,255})\/cancels)?)$/;

const match = z.strictObject({
  orderId: z.string().optional(),
  last4: z.string().length(4).optional(),
  /** This share of all keys, 0..1: always the same keys for the same script. */
  share: z.number().min(0).max(1).optional(),
  /** Other keys for another seed; by default the rule's place in the script. */
  seed: z.string().optional(),
  /** Only the nth request with its key, from 1. */
  nth: z.number().int().min(1).optional(),
  /** The path, or with `*` at the end how it begins. Without `path`, only requests for a charge match. */
  path: z.string().startsWith('/').optional(),
  method: z.enum(['GET', 'POST']).optional(),
});

const EDGE_KINDS = new Set<string>(edgeFault.options.map(({ shape }) => shape.kind.value));
const WIRE_KINDS = new Set<string>(wireFault.options.map(({ shape }) => shape.kind.value));
/** A verdict can be bent on a charge only; waiting makes sense anywhere. */
const CHARGES_ONLY = new Set<string>(verdictFault.options.map(({ shape }) => shape.kind.value));
CHARGES_ONLY.delete('delay');
CHARGES_ONLY.delete('hold-in-flight');

const faultRule = z
  .strictObject({
    match: match.optional(),
    fault: z.discriminatedUnion('kind', [edgeFault, verdictFault, wireFault]),
    times: z.number().int().min(1).optional(),
  })
  .refine(({ match, fault }) => meetsCharges(match) || !CHARGES_ONLY.has(fault.kind), {
    path: ['fault', 'kind'],
    error: 'changes the verdict on a charge, but the rule matches other requests; drop its path and method',
  });

const faultScript = z.array(faultRule).max(1000);

export type EdgeFault = z.infer<typeof edgeFault>;
type VerdictFault = z.infer<typeof verdictFault>;
type WireFault = z.infer<typeof wireFault>;
/** What can happen to an answer on its way to the client. */
export type DeliveryFault = WireFault | Extract<EdgeFault, { kind: 'html-502' }>;
export type Fault = EdgeFault | VerdictFault | WireFault;
export type FaultRule = z.infer<typeof faultRule>;
export type FaultScript = readonly FaultRule[];

export class FaultScriptError extends Error {
  override readonly name = 'FaultScriptError';
}

/** @throws FaultScriptError that names the first broken rule, counted from 1. */
export function parseFaultScript(script: unknown): FaultScript {
  const result = faultScript.safeParse(script);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const [rule, ...field] = issue?.path ?? [];
  const where =
    typeof rule === 'number' ? `rule ${rule + 1}, ${field.join('.') || 'the rule itself'}` : 'the script';
  throw new FaultScriptError(`fault script: ${where}: ${issue?.message ?? 'is not valid'}`);
}

/** @throws FaultScriptError */
export function faultScriptFromJson(json: string): FaultScript {
  let script: unknown;
  try {
    script = JSON.parse(json);
  } catch {
    throw new FaultScriptError('fault script: is not JSON; expected a list of rules');
  }
  return parseFaultScript(script);
}

function meetsCharges(rule: z.infer<typeof match> | undefined): boolean {
  return isChargePath(rule?.path ?? CHARGE_PATH) && rule?.method !== 'GET';
}

/** Where in its life a request is hit, see the head of this file; a charged 502 is on the wire. */
export function isEdgeFault(fault: Fault): fault is EdgeFault {
  return EDGE_KINDS.has(fault.kind) && !isWireFault(fault);
}

export function isWireFault(fault: Fault): fault is DeliveryFault {
  return fault.kind === 'html-502' ? fault.charged === true : WIRE_KINDS.has(fault.kind);
}
