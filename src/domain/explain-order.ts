/**
 * An order in one plain sentence, for the person who is asked "where is my order?": what was decided and when, where
 * the money is, and who does what next. No card data.
 */
import { nextActionOf, type MoneyVerdict } from './money-moved.ts';
import { moneyText } from './money-text.ts';
import type { StoredOrder } from './order-states.ts';
import type { OrderId } from './order.ts';

export interface ExplainedOrder {
  readonly orderId: OrderId;
  readonly order: StoredOrder | undefined;
  readonly verdict: MoneyVerdict;
  /** When it was first seen; undefined without an order. */
  readonly seenAtMs: number | undefined;
  /** Its message waits for a person since then, for this reason. */
  readonly parked:
    { readonly sinceMs: number; readonly reason: string; readonly isUpstreamsFault: boolean } | undefined;
  /** How often its history says that something happened which must never happen. */
  readonly alarms: number;
}

export function explainOrder(explained: ExplainedOrder): string {
  const { orderId, order, parked, alarms } = explained;
  const amount = order === undefined ? '' : ` (${moneyText(order)})`;
  const parts = [
    `Order ${orderId}${amount} ${whatHappened(explained)}`,
    parked && `its message is parked since ${timeText(parked.sinceMs)} (${parked.reason})`,
    alarms > 0
      ? `its history has ${alarms === 1 ? 'an alarm that' : `${alarms} alarms that`} a person must look at`
      : undefined,
    whatIsNext(explained),
  ];
  return `${parts.filter((part) => part !== undefined).join('; ')}.`;
}

function whatHappened({ order, verdict, seenAtMs }: ExplainedOrder): string {
  const seen = timeText(seenAtMs);
  const decided = timeText(order?.decidedAtMs);
  const told = `downstream was told on ${timeText(order?.notifiedAtMs)}`;
  const notTold = 'downstream was not told yet';
  switch (verdict.kind) {
    case 'nothing-known':
      return 'was never taken in, so nothing was charged for it';
    case 'not-sent':
      return order !== undefined && order.generation > 1
        ? `is opened for try ${order.generation}, which has not reached the payment gateway, so nothing is held`
        : `was taken in on ${seen} and has not reached the payment gateway, so nothing was charged`;
    case 'in-flight':
      return 'is being authorized by a worker right now';
    case 'unknown':
      return (
        `was taken in on ${seen} and may have been sent to the payment gateway, whose answer was never seen` +
        `${verdict.reference === undefined ? '' : ` (it knows it as ${verdict.reference})`}, ` +
        'so whether money is held is not known'
      );
    case 'declined-for-now':
      return `was declined for now, nothing is held, and it is to be tried again from ${timeText(verdict.retryAtMs)} on`;
    case 'rejected':
      return `was refused by the payment gateway for no fault of the card (${verdict.reason}), so nothing was charged`;
    case 'denied-unannounced':
      return `${denialText(verdict, decided)}, and ${notTold}`;
    case 'denied-announced':
      return `${denialText(verdict, decided)}, and ${told}`;
    case 'approved-unannounced':
      return `${approvalText(verdict.reference, decided)}, but ${notTold}`;
    case 'approved-announced':
      return `${approvalText(verdict.reference, decided)}, and ${told}`;
    case 'unwanted-hold':
      return holdText(verdict, order);
    case 'contradicted':
      return (
        'has money at the payment gateway that does not fit it ' +
        `(${verdict.reason}${verdict.reference === undefined ? '' : `, ${verdict.reference}`}), and was not decided`
      );
  }
}

function denialText(
  verdict: { readonly reason: string; readonly wasSent: boolean },
  decided: string,
): string {
  return verdict.wasSent
    ? `was denied on ${decided} (${verdict.reason}), nothing is held`
    : `was denied on ${decided} because its card data is unusable, without asking the payment gateway, nothing is held`;
}

function approvalText(reference: string, decided: string): string {
  return `was approved on ${decided}, the amount is held as ${reference}`;
}

type UnwantedHold = Extract<MoneyVerdict, { kind: 'unwanted-hold' }>;

function holdText({ reference, voiding }: UnwantedHold, order: StoredOrder | undefined): string {
  const what =
    order?.status === 'denied'
      ? `was denied, but the payment gateway approved it afterwards (${reference})`
      : `was approved in part only (${reference}) and must not be shipped on that`;
  switch (voiding) {
    case 'due':
      return `${what}, and the worker is giving the money back`;
    case 'confirmed':
      return `${what}, and the money was given back`;
    case 'refused':
      return `${what}, and the gateway refused to give the money back`;
  }
}

function whatIsNext({ verdict, parked }: ExplainedOrder): string {
  switch (nextActionOf(verdict)) {
    case 'authorize':
      if (parked === undefined) return 'next, its message is to come, and it is charged once';
      return parked.isUpstreamsFault
        ? 'next, upstream is to send it anew, correctly'
        : 'next, an operator may replay it, which charges it once';
    case 'announce':
      return 'next, the notification is to be sent, with no new charge';
    case 'ask-gateway':
      return 'next, the gateway is to be asked, before anything else is done';
    case 'wait':
      return 'next, nothing but waiting for the worker';
    case 'nothing':
      return 'nothing is left to do';
    case 'review':
      return 'next, a person decides';
  }
}

/** `2026-11-30 17:02 UTC`. */
function timeText(ms: number | undefined): string {
  if (ms === undefined) return 'a time that is not known';
  return `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}
