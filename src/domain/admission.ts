/**
 * The gate: the body of a message to an order, a denial or a parked message, and nothing else whatever the bytes are.
 *
 * What makes it no order at all comes first, then the id, then what is charged and to whom, and the card last:
 * a message that has any fault of upstream's is parked and never denies a customer (payments design, section 1).
 */
import { fingerprintOf } from './fingerprint.ts';
import { readCustomerId, readOrderId } from './identifiers.ts';
import { fieldOf, isJsonObject, readJson, type JsonObject } from './json-text.ts';
import { readMoney, type MoneyRules } from './money.ts';
import type { Admission, OpenAdmission, OrderId, OrderTerms, SealedOrder } from './order.ts';
import { cardAsMeans, readMeans, type MeansIdentity, type OpenMeansReading } from './payment-means.ts';
import { unreadable, type Unreadable } from './reading.ts';
import { readOpenedCard } from './sealed-card.ts';

export interface AdmissionRules extends MoneyRules {
  /** HMAC key of the orders' fingerprints; with another key every stored order looks like a conflict. */
  readonly fingerprintKey: Uint8Array;
}

/** Never throws and never keeps `body`; only a `maxAmount` that is no number throws, for every body. */
export function admit(body: Uint8Array, rules: AdmissionRules): Admission {
  const json = readJson(body);
  if (json.kind === 'refused') return parked(undefined, json);
  if (!isJsonObject(json.value)) {
    return parked(undefined, unreadable('unparseable', 'the body is not a JSON object'));
  }
  const id = readOrderId(fieldOf(json.value, 'id'));
  if (id.kind === 'unreadable') return parked(undefined, id);
  return admitOrder(id.value, json.value, rules);
}

/** The admission of an order whose card is opened now; `content` is undefined when no key of ours opened it. */
export function admitOpened(
  order: SealedOrder,
  content: Uint8Array | undefined,
  rules: AdmissionRules,
): OpenAdmission {
  const opened = readOpenedCard(content);
  if (opened.kind !== 'spent') return admitMeans(order, cardAsMeans(opened), rules);
  const { number, expiry } = opened.identity;
  const card = { number, expiryMonth: Number(expiry.slice(0, 2)), expiryYear: Number(expiry.slice(2)) };
  return { kind: 'spent', terms: termsOf(order, opened.identity, rules), means: { kind: 'card', card } };
}

function admitOrder(orderId: OrderId, fields: JsonObject, rules: AdmissionRules): Admission {
  const money = readMoney(fieldOf(fields, 'chargeAmount'), fieldOf(fields, 'currency'), rules);
  if (money.kind === 'unreadable') return parked(orderId, money);
  const customerId = readCustomerId(fieldOf(fields, 'customerId'));
  if (customerId.kind === 'unreadable') return parked(orderId, customerId);
  const order = { orderId, customerId: customerId.value, ...money.value };
  const means = readMeans(fields);
  if (means.kind === 'sealed') return { kind: 'sealed', order: { ...order, card: means.card } };
  return admitMeans(order, means, rules);
}

function admitMeans(known: KnownOrder, means: OpenMeansReading, rules: AdmissionRules): OpenAdmission {
  if (means.kind === 'unreadable') return parked(known.orderId, means);
  const terms = termsOf(known, means.identity, rules);
  if (means.kind === 'usable') return { kind: 'ok', order: { terms, means: means.means } };
  return { kind: 'deny', terms, reason: 'invalid_card_data', detail: means.detail };
}

/** What is known of an order before its means to pay. */
type KnownOrder = Omit<SealedOrder, 'card'>;

function termsOf(known: KnownOrder, identity: MeansIdentity, rules: AdmissionRules): OrderTerms {
  const { orderId, customerId, amountMinor, currency } = known;
  const card = identity.kind === 'card' ? identity : undefined;
  return {
    orderId,
    customerId,
    amountMinor,
    currency,
    fingerprint: fingerprintOf(rules.fingerprintKey, known, customerId, identity),
    cardBrand: card?.brand,
    cardLast4: card?.last4,
  };
}

function parked(
  orderId: OrderId | undefined,
  { reason, detail }: Pick<Unreadable, 'reason' | 'detail'>,
): OpenAdmission {
  return { kind: 'park', orderId, reason, detail };
}
