/**
 * The books of the demo: what the gateway's ledger, the database and downstream's receipts say about the orders that
 * were published, held against each other. Nothing in here believes the worker.
 */
export interface Evidence {
  /** Every message that the broker confirmed. */
  readonly published: readonly PublishedOrder[];
  /** Approvals in the gateway's ledger. */
  readonly approvals: readonly {
    orderId: string | null;
    amountMinor: number;
    currency: string;
    authorizationId: string;
  }[];
  /** Rows of cardauth.orders. */
  readonly orders: readonly StoredRow[];
  readonly receipts: readonly { orderId: string; eventId: string; status: string }[];
  /** Copies in the parking lot; the ids where there are any. */
  readonly parked: readonly { orderId: string | undefined; messageId: string | undefined }[];
  /** Messages left on the orders queue, and on the delay queues, with nobody working. */
  readonly leftOnQueues: number;
}

export interface PublishedOrder {
  readonly messageId: string;
  readonly orderId: string | undefined;
  readonly amountMinor: bigint | undefined;
}

export interface StoredRow {
  readonly orderId: string;
  readonly status: string;
  readonly amountMinor: bigint;
  readonly currency: string;
  readonly gatewayReference: string | undefined;
  readonly notified: boolean;
}

export interface Books {
  readonly messages: number;
  /** Different orders among the messages; each message without a usable id counts as one. */
  readonly orders: number;
  readonly readyToShip: number;
  readonly denied: number;
  readonly parked: number;
  readonly authorizations: number;
  readonly chargedTwice: number;
  readonly lost: number;
  readonly notified: number;
  /** Everything that does not fit, in words; empty when the books balance. */
  readonly problems: readonly string[];
}

export function balance(evidence: Evidence): Books {
  const approvals = groupBy(evidence.approvals, ({ orderId }) => orderId ?? 'without an order id');
  const receipts = groupBy(evidence.receipts, ({ orderId }) => orderId);
  const stored = new Map(evidence.orders.map((order) => [order.orderId, order]));
  const parkedIds = new Set(evidence.parked.map(({ orderId }) => orderId));
  const publishedIds = new Set(evidence.published.flatMap(({ orderId }) => orderId ?? []));
  const problems: string[] = [];

  const chargedTwice = [...approvals].filter(([, entries]) => entries.length > 1).map(([orderId]) => orderId);
  for (const orderId of chargedTwice) problems.push(`order ${orderId} was charged more than once`);

  const lost = [...publishedIds].filter(
    (orderId) => !isAccountedFor(stored.get(orderId), parkedIds.has(orderId)),
  );
  for (const orderId of lost)
    problems.push(`order ${orderId} is ${stored.get(orderId)?.status ?? 'nowhere'}: lost`);

  const parkedMessages = new Set(evidence.parked.map(({ messageId }) => messageId));
  const withoutId = evidence.published.filter(({ orderId }) => orderId === undefined);
  const parkedWithoutId = withoutId.filter(({ messageId }) => parkedMessages.has(messageId)).length;
  const lostWithoutId = withoutId.length - parkedWithoutId;
  if (lostWithoutId > 0) problems.push(`${lostWithoutId} messages without an order id are not parked: lost`);

  for (const order of evidence.orders) {
    problems.push(
      ...contradictions(order, approvals.get(order.orderId) ?? [], receipts.get(order.orderId) ?? []),
    );
    if (!publishedIds.has(order.orderId))
      problems.push(`order ${order.orderId} is stored and was never published`);
  }
  for (const orderId of approvals.keys()) {
    if (!stored.has(orderId)) problems.push(`order ${orderId} was charged and is not stored`);
  }
  if (evidence.leftOnQueues > 0) problems.push(`${evidence.leftOnQueues} messages are still on the queues`);

  const statuses = evidence.orders.map(({ status }) => status);
  return {
    messages: evidence.published.length,
    orders: publishedIds.size + withoutId.length,
    readyToShip: statuses.filter((status) => status === 'ready-to-ship').length,
    denied: statuses.filter((status) => status === 'denied').length,
    parked:
      [...publishedIds].filter(
        (id) => isWithPerson(stored.get(id), parkedIds.has(id)) && !isDecided(stored.get(id)),
      ).length + parkedWithoutId,
    authorizations: evidence.approvals.length,
    chargedTwice: chargedTwice.length,
    lost: lost.length + lostWithoutId,
    notified: receipts.size,
    problems,
  };
}

/** Decided, or with a person: anything else is lost. */
function isAccountedFor(order: StoredRow | undefined, parked: boolean): boolean {
  return isWithPerson(order, parked) || isDecided(order);
}

/** Its message is parked, or the resolver gave it to review. */
function isWithPerson(order: StoredRow | undefined, parked: boolean): boolean {
  return parked || order?.status === 'review';
}

function isDecided(order: StoredRow | undefined): boolean {
  return order?.status === 'ready-to-ship' || order?.status === 'denied';
}

function contradictions(
  order: StoredRow,
  approvals: readonly Evidence['approvals'][number][],
  receipts: readonly Evidence['receipts'][number][],
): string[] {
  const { orderId, status } = order;
  const problems: string[] = [];
  if (status === 'ready-to-ship') {
    const fits = approvals.some(
      ({ amountMinor, currency, authorizationId }) =>
        BigInt(amountMinor) === order.amountMinor &&
        currency.toUpperCase() === order.currency &&
        authorizationId === order.gatewayReference,
    );
    if (!fits)
      problems.push(`order ${orderId} is ready-to-ship without an approval of its amount and reference`);
  }
  if (status === 'denied' && approvals.length > 0)
    problems.push(`order ${orderId} is denied and was charged`);
  if (!isDecided(order)) return problems;

  if (!order.notified) problems.push(`order ${orderId} is ${status} and not marked as notified`);
  if (receipts.length === 0) problems.push(`order ${orderId} is ${status} and downstream never heard of it`);
  const eventIds = new Set(receipts.map(({ eventId }) => eventId));
  if (eventIds.size > 1) problems.push(`order ${orderId} was announced under ${eventIds.size} event ids`);
  if (receipts.some((receipt) => receipt.status !== status)) {
    problems.push(`order ${orderId} was announced as something else than ${status}`);
  }
  return problems;
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}
