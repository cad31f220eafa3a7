import { causeOf } from '../domain/park-cause.ts';
import { isTerminal } from '../domain/order-states.ts';
import { orderIdOf, type Admission, type OrderId } from '../domain/order.ts';
import type { CopyBody } from '../ports/copy-body.ts';
import type { Log } from '../ports/log.ts';
import type { OrderBook } from '../ports/order-book.ts';
import type {
  ParkedMessage,
  ParkedOrderRecord,
  ParkedOrderRecords,
  RecordedBody,
  UnsealedMessages,
} from '../ports/parked-orders.ts';
import type { BasicBolt } from '../topology/bolt.ts';
import type { Tuple } from '../topology/tuple.ts';

/** What the spout emits for a message of the parking lot. */
export type ParkedMessageValues = { readonly parked: ParkedMessage };

export interface RecordParkedOrderParts {
  readonly records: ParkedOrderRecords;
  readonly unsealed: UnsealedMessages;
  readonly book: OrderBook;
  /** What the body is as a message of the orders queue. */
  readonly admit: (body: Uint8Array) => Admission;
  /** The same with its card opened, where that is possible. */
  readonly open: (admission: Admission) => Promise<Admission>;
  /** Encrypts with the card key; undefined without one. */
  readonly seal: ((body: Uint8Array) => Promise<string>) | undefined;
  /** Takes the CVV out of a body whose order has its verdict, as far as there is a card key. */
  readonly copyBody: CopyBody;
  /** Masks all card data and cuts. */
  readonly redact: (body: Uint8Array) => Uint8Array;
  readonly log: Log;
}

/**
 * Writes a parked message down, so that people need no queue to see it. Its row is committed before the tree completes
 * and the message leaves the parking lot.
 *
 * A database may hold no card in clear. With a card key the whole body is sealed. Without one it is redacted, and an
 * order that can be replayed moves on to a queue of its own, as it came: parked orders are worth money, so they are not
 * given up for want of a key, and no key is made up that would have to lie beside what it locks.
 */
export class RecordParkedOrder implements BasicBolt<ParkedMessageValues> {
  readonly kind = 'basic';
  readonly #parts: RecordParkedOrderParts;
  /** Bodies, as they were delivered, whose copy is on the other queue: a second try makes no second copy. */
  readonly #moved = new WeakSet<Uint8Array>();

  constructor(parts: RecordParkedOrderParts) {
    this.#parts = parts;
  }

  async execute({ values: { parked } }: Tuple<ParkedMessageValues>): Promise<void> {
    const { log, records } = this.#parts;
    const admission = this.#parts.admit(parked.body);
    const orderId = orderIdOf(admission) ?? parked.orderId;
    const isDecided = isParkedByWorker(parked) ? false : await this.#tellBook(orderId, parked);
    const record = await this.#recordOf(parked, orderId, admission, isDecided);
    if (isOnQueue(record.body)) await this.#moveOnce(parked);
    const isNew = await records.record(record);
    const { parkId, reason, class: parkedClass } = record;
    log.info({ orderId, parkId, reason, class: parkedClass, isNew }, 'parked order recorded');
  }

  /** A worker that parks an order says so itself. Whether the order has its verdict. */
  async #tellBook(orderId: OrderId | undefined, parked: ParkedMessage): Promise<boolean> {
    const { book, log } = this.#parts;
    const { class: parkedClass, error, reason } = parked;
    log.warn({ orderId, reason, class: parkedClass, detail: error }, 'a message was parked by no worker');
    if (orderId === undefined) return false;
    const { order } = await book.apply(orderId, { kind: 'parked', reason });
    return order !== undefined && isTerminal(order);
  }

  async #recordOf(
    parked: ParkedMessage,
    orderId: OrderId | undefined,
    admission: Admission,
    isDecided: boolean,
  ): Promise<ParkedOrderRecord> {
    const { body, ...facts } = parked;
    const cause = causeOf(parked.reason, orderId, parked.error);
    const forPeople = identified(await this.#parts.open(admission));
    const kept = isDecided ? await this.#parts.copyBody(body, { isDecided }) : body;
    return { ...facts, orderId, cause, ...forPeople, body: await this.#bodyOf(kept, admission) };
  }

  async #bodyOf(body: Uint8Array, admission: Admission): Promise<RecordedBody> {
    const { redact, seal } = this.#parts;
    const { byteLength: length } = body;
    const noOrder = admission.kind === 'park' ? `it is no order: ${admission.detail}` : undefined;
    if (seal === undefined || (admission.kind === 'park' && admission.reason === 'too_large')) {
      const replay = noOrder === undefined ? ({ from: 'unsealed-queue' } as const) : { notBecause: noOrder };
      return { form: 'redacted', bytes: redact(body), length, replay };
    }
    const replay = noOrder === undefined ? ({ from: 'row' } as const) : { notBecause: noOrder };
    return { form: 'sealed', bytes: Buffer.from(await seal(body)), length, replay };
  }

  async #moveOnce(parked: ParkedMessage): Promise<void> {
    if (this.#moved.has(parked.body)) return;
    await this.#parts.unsealed.keep(parked);
    this.#moved.add(parked.body);
  }
}

function isParkedByWorker({ class: parkedClass }: ParkedMessage): boolean {
  return parkedClass !== 'broker' && parkedClass !== 'foreign';
}

function isOnQueue({ replay }: RecordedBody): boolean {
  return 'from' in replay && replay.from === 'unsealed-queue';
}

function identified(admission: Admission): Pick<ParkedOrderRecord, 'customerId' | 'cardLast4'> {
  switch (admission.kind) {
    case 'ok':
      return ofTerms(admission.order.terms);
    case 'deny':
    case 'spent':
      return ofTerms(admission.terms);
    case 'sealed':
      return { customerId: admission.order.customerId, cardLast4: undefined };
    case 'park':
      return { customerId: undefined, cardLast4: undefined };
  }
}

function ofTerms({
  customerId,
  cardLast4,
}: {
  readonly customerId: string;
  readonly cardLast4?: string | undefined;
}) {
  return { customerId, cardLast4 };
}
