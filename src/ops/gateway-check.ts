/** What the gateway says against an operator's word; its own word counts more. */
import type { StoredOrder } from '../domain/order-states.ts';
import type { InquiryOutcome } from '../domain/outcome.ts';
import type { GatewayInquiry } from '../ports/gateway-inquiry.ts';

export type GatewayCheck =
  /** It agrees, or at least does not contradict. */
  | { readonly kind: 'agrees'; readonly expiresAtMs?: number }
  | { readonly kind: 'contradicts'; readonly because: string }
  /** It could not be asked. */
  | { readonly kind: 'silent'; readonly because: string };

/** Whether `reference` is an approval of exactly this order, and the only one. */
export async function checkApproval(
  gateway: GatewayInquiry,
  order: StoredOrder,
  reference: string,
): Promise<GatewayCheck> {
  const said = await ask(gateway, order, reference);
  const silence = silenceIn(said);
  if (silence !== undefined) return silence;
  if (said.kind !== 'approved' || said.reference !== reference) return contradicts(reference, said);
  const ofOrder = await ask(gateway, order, undefined);
  const isOther = ofOrder.kind === 'approved' && ofOrder.reference !== reference;
  if (isOther || ofOrder.kind === 'contradicted') return contradicts('the order', ofOrder);
  return { kind: 'agrees', ...(said.expiresAtMs === undefined ? {} : { expiresAtMs: said.expiresAtMs }) };
}

/**
 * Whether the gateway holds nothing for this order that is not on record already: money that contradicts the order and
 * is on record is given back when the order is settled as declined.
 */
export async function checkNonCharge(gateway: GatewayInquiry, order: StoredOrder): Promise<GatewayCheck> {
  for (const reference of new Set([order.gatewayReference, undefined])) {
    const said = await ask(gateway, order, reference);
    const silence = silenceIn(said);
    if (silence !== undefined) return silence;
    const isOnRecord =
      order.status === 'review' && 'reference' in said && said.reference === order.gatewayReference;
    if (said.kind === 'approved' || (said.kind === 'contradicted' && !isOnRecord)) {
      return contradicts('the order', said);
    }
    // Once it is on record it is given up when the order is settled; unknown to us it could still become a hold.
    const isUndecided = said.kind === 'undecided' && said.reference !== undefined;
    if (isUndecided && said.reference !== order.gatewayReference && order.status !== 'denied') {
      return contradicts('the order (ask it with `unknown resolve` first)', said);
    }
  }
  return { kind: 'agrees' };
}

function ask(
  gateway: GatewayInquiry,
  terms: StoredOrder,
  reference: string | undefined,
): Promise<InquiryOutcome> {
  const idempotencyKey = terms.attempt?.idempotencyKey ?? `order-${terms.orderId}-${terms.generation}`;
  return gateway.lookup({ terms, idempotencyKey, reference });
}

function silenceIn(said: InquiryOutcome): GatewayCheck | undefined {
  const isSilent =
    said.kind === 'unanswered' || (said.kind === 'undecided' && said.cause === 'cannot_be_asked');
  return isSilent ? { kind: 'silent', because: said.detail } : undefined;
}

function contradicts(what: string, said: InquiryOutcome): GatewayCheck {
  return { kind: 'contradicts', because: `the gateway says of ${what}: ${inWords(said)}` };
}

export function inWords(said: InquiryOutcome): string {
  switch (said.kind) {
    case 'approved':
      return `approved as ${said.reference}`;
    case 'declined':
      return `declined (${said.code})`;
    case 'contradicted':
      return `${said.reason}${said.reference === undefined ? '' : ` (${said.reference})`}`;
    case 'undecided':
      return `${said.cause.replaceAll('_', ' ')}: ${said.detail}`;
    case 'unanswered':
      return `no answer: ${said.detail}`;
  }
}
