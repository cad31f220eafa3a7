/**
 * The invariants (reliability design, section 1) that are watched while the simulation runs. The end state alone would
 * miss some of them: an ack that came too early does no harm unless the worker dies right after it.
 */
import type { AuthorizationRequest } from '../../src/ports/gateway.ts';
import type { AmqpWatch } from './amqp-channel.ts';
import type { BrokerMessage, SimulatedBroker } from './broker.ts';
import type { SimulatedDatabase } from './database.ts';
import type { CallSite } from './faults.ts';
import type { SimulatedGateway } from './gateway.ts';
import type { IntakeSwitch } from './intake-switch.ts';
import type { SimulatedProcess } from './machine.ts';
import type { World } from './network.ts';
import type { Replays } from './replays.ts';
import type { AttemptRow, FactRow, OrderRow } from './tables.ts';

/** What one process has been told. */
interface Knowledge {
  /** Orders and generations that it has read, or written, as decided. */
  readonly decided: Set<string>;
  /** Message ids of copies that it knows to be safe, and since when. */
  readonly copied: Map<string, number>;
  readonly deliveredAt: Map<BrokerMessage, number>;
}

export class Monitor implements AmqpWatch {
  readonly #world: World;
  readonly #database: SimulatedDatabase;
  readonly #gateway: SimulatedGateway;
  readonly #intake: IntakeSwitch;
  readonly #replays: Replays;
  readonly #keyWindowMs: number;
  readonly #keyUsedForMs: number;
  readonly #knowledge = new Map<SimulatedProcess, Knowledge>();
  readonly #keys = new Map<string, Set<string>>();
  readonly #announced = new Map<string, Set<string>>();
  /** Told of each message that comes into the parking lot. */
  onParked: (message: BrokerMessage) => void = () => undefined;
  /** By order and generation: how it was decided before it was reopened. */
  readonly #reopened = new Map<string, { readonly status: string; readonly atMs: number }>();
  /** Deliveries of each message id. */
  readonly deliveries = new Map<string, number>();

  /** No claim of a key that is older than `keyWindowMs`, and no request under one older than `keyUsedForMs`. */
  constructor(
    world: World,
    parts: {
      readonly database: SimulatedDatabase;
      readonly broker: SimulatedBroker;
      readonly gateway: SimulatedGateway;
      readonly intake: IntakeSwitch;
      readonly replays: Replays;
      readonly keyWindowMs: number;
      readonly keyUsedForMs: number;
    },
  ) {
    this.#world = world;
    this.#database = parts.database;
    this.#gateway = parts.gateway;
    this.#intake = parts.intake;
    this.#replays = parts.replays;
    this.#keyWindowMs = parts.keyWindowMs;
    this.#keyUsedForMs = parts.keyUsedForMs;
    parts.database.onSeen = (process, orderId) => {
      this.#sees(process, orderId);
    };
    parts.database.tables.onAttempt = (before, after) => {
      this.#claims(before, after);
    };
    parts.gateway.onAsked = (process, request) => {
      this.#asks(process, request);
    };
    parts.database.onWrite = (process, facts) => {
      for (const fact of facts) this.#writes(process, fact);
    };
    parts.database.tables.onOrder = (before, after, fact) => {
      this.#changes(before, after, fact);
    };
    parts.broker.onRouted = (message, queue) => {
      if (queue === parts.broker.names.announcements) this.#announces(message);
      if (queue === parts.broker.names.parked) this.onParked(message);
    };
    parts.broker.onDelivered = ({ properties: { messageId = '' } }) => {
      this.deliveries.set(messageId, (this.deliveries.get(messageId) ?? 0) + 1);
    };
  }

  /** Event ids that downstream has had for the order. */
  eventsOf(orderId: string): ReadonlySet<string> {
    return this.#announced.get(orderId) ?? NONE;
  }

  /** In a generation before it was reopened, whatever has become of it since. */
  wasAnnounced(orderId: string): boolean {
    const order = this.#database.tables.orders.get(orderId);
    return order !== undefined && this.#reopenedAt(order) > -Infinity;
  }

  /** When it was reopened last, if downstream knows what it was before. */
  #reopenedAt({ generation, order_id: orderId }: OrderRow): number {
    for (let before = generation - 1; before > 0; before -= 1) {
      const { atMs, status } = this.#reopened.get(`${orderId} ${before}`) ?? {};
      if (this.eventsOf(orderId).has(`order-${orderId}-${status ?? ''}-${before}`)) return atMs ?? -Infinity;
    }
    return -Infinity;
  }

  delivered(process: SimulatedProcess, message: BrokerMessage): void {
    this.#of(process).deliveredAt.set(message, this.#world.time.nowMs);
  }

  /** I10: an ack comes after the recorded announcement, or after a confirmed copy, and only on its own channel. */
  settles(
    process: SimulatedProcess,
    message: BrokerMessage | undefined,
    verdict: 'ack' | 'nack',
    isOwn: boolean,
  ): void {
    if (message === undefined || !isOwn) {
      this.#world.violated(
        'I10',
        `a delivery was settled (${verdict}) twice, or on a channel that is not its own`,
      );
      return;
    }
    if (verdict === 'nack') return;
    const { copied, deliveredAt } = this.#of(process);
    const messageId = message.properties.messageId ?? '';
    const copiedAtMs = copied.get(messageId);
    if (copiedAtMs !== undefined && copiedAtMs >= (deliveredAt.get(message) ?? Infinity)) return;
    const order = this.#database.tables.orders.get(orderIdOf(messageId));
    if (order?.notified_at_ms != null) return;
    if (order !== undefined && this.#reopenedAt(order) >= (deliveredAt.get(message) ?? Infinity)) return;
    this.#world.violated('I10', `${messageId} was acked: neither announced and recorded, nor copied`);
  }

  confirmed(process: SimulatedProcess, site: CallSite, { messageId = '' }: { messageId?: string }): void {
    if (process.isOperator && site === 'broker.copy') this.#replays.confirmed(messageId);
    if (site !== 'broker.announce') this.#of(process).copied.set(messageId, this.#world.time.nowMs);
  }

  #sees(process: SimulatedProcess, orderId: string): void {
    const order = this.#database.tables.orders.get(orderId);
    if (order === undefined) return;
    const { status, generation, notified_at_ms: notifiedAtMs } = order;
    if (status === 'ready-to-ship' || status === 'denied')
      this.#of(process).decided.add(`${orderId} ${generation}`);
    if (notifiedAtMs !== null && !this.eventsOf(orderId).has(`order-${orderId}-${status}-${generation}`)) {
      this.#world.violated('I10', `order ${orderId} is marked as announced, and downstream never had it`);
    }
  }

  /** I7; and a claim is respected while its owner lives and its lease runs. Clocks may have moved by some seconds. */
  #claims(before: AttemptRow, after: AttemptRow): void {
    if (after.claim === before.claim) return;
    const { lease_until_ms: leaseUntilMs, order_id: orderId, owner } = before;
    const ageMs = this.#ageOf(after.idempotency_key);
    if (ageMs > this.#keyWindowMs + CLOCKS_MS) {
      this.#world.violated('I7', `order ${orderId} is claimed under a key of ${Math.round(ageMs / 1000)} s`);
    }
    if (after.owner === owner || leaseUntilMs === null) return;
    const leftMs = leaseUntilMs - this.#database.nowMs();
    if (leftMs < 5_000 || !this.#database.sessions.has(owner)) return;
    this.#world.violated(
      'lease',
      `worker ${after.owner} takes order ${orderId} from worker ${owner}, which has it for ${leftMs} ms more`,
    );
  }

  /** Since the gateway first had the key; 0 when it never did. */
  #ageOf(key: string): number {
    const { nowMs } = this.#world.time;
    return nowMs - (this.#gateway.firstUseOf(key) ?? nowMs);
  }

  /** I4, I6, I7. */
  #asks(process: SimulatedProcess, { order, idempotencyKey }: AuthorizationRequest): void {
    const { orderId } = order.terms;
    const { tables } = this.#database;
    const stored = tables.orders.get(orderId);
    const keys = this.#keys.get(orderId) ?? new Set();
    this.#keys.set(orderId, keys.add(idempotencyKey));
    if (keys.size > (stored?.generation ?? 0)) {
      this.#world.violated('I4', `order ${orderId} was sent under ${[...keys].join(', ')}`);
    }
    const generation = Number(idempotencyKey.slice(idempotencyKey.lastIndexOf('-') + 1));
    const attempt = tables.attempts.get(`${orderId} ${generation}`);
    if (attempt?.idempotency_key !== idempotencyKey) {
      this.#world.violated(
        'I6',
        `order ${orderId} is sent under ${idempotencyKey}, which nobody has claimed`,
      );
      return;
    }
    if (this.#of(process).decided.has(`${orderId} ${generation}`)) {
      this.#world.violated('I6', `order ${orderId} is sent by ${process.name}, which knows it as decided`);
    }
    if (this.#intake.pausedForMs > PAUSED_MS && !process.wasStopped) {
      this.#world.violated('pause', `order ${orderId} is sent ${PAUSED_MS} ms after the intake was paused`);
    }
    const ageMs = this.#ageOf(idempotencyKey);
    if (ageMs > this.#keyUsedForMs) {
      this.#world.violated('I7', `order ${orderId} is sent under a key of ${Math.round(ageMs / 1000)} s`);
    }
  }

  /** I18: what an operator changes is audited with it, and an operator's facts are nobody else's. */
  #writes(process: SimulatedProcess, row: FactRow): void {
    const { fact, order_id: orderId } = row;
    const isOperators = fact === 'settled' || fact === 'reopened' || fact === 'resend';
    const isChange = process.isOperator && row['changed'] === true && fact !== 'notified';
    const said = [row['command_id'], row['actor'], row['action'], row['reason'], row['audit_after']];
    if ((isOperators || isChange) && said.includes(undefined))
      this.#world.violated('I18', `${fact} of order ${orderId} leaves no audit row`);
    if (isOperators && !process.isOperator)
      this.#world.violated('I18', `${process.name}, a worker, says that order ${orderId} is ${fact}`);
  }

  /** I5: only an operator opens a decided order again. */
  #changes(before: OrderRow, after: OrderRow, row: FactRow): void {
    const { generation, order_id: orderId, status } = before;
    if ((status !== 'ready-to-ship' && status !== 'denied') || status === after.status) return;
    if (row.fact === 'reopened' && row['action'] !== 'orders reopen')
      this.#world.violated(
        'I17',
        `${String(row['action'])} opens order ${orderId} again, which was ${status}`,
      );
    if (row.fact !== 'reopened') this.#world.violated('I5', `order ${orderId} was ${status}: ${row.fact}`);
    this.#reopened.set(`${orderId} ${generation}`, { status, atMs: this.#world.time.nowMs });
  }

  /** I11, while it runs: what is announced is recorded, and always the same for a generation. */
  #announces({ content, properties }: BrokerMessage): void {
    const body = JSON.parse(content.toString()) as { readonly orderId: string; readonly status: string };
    const { orderId, status } = body;
    const { messageId: eventId = '' } = properties;
    const events = this.#announced.get(orderId) ?? new Set();
    this.#announced.set(orderId, events.add(eventId));
    const generation = eventId.slice(eventId.lastIndexOf('-') + 1);
    if ([...events].filter((each) => each.endsWith(`-${generation}`)).length > 1) {
      this.#world.violated('I11', `order ${orderId} was announced as ${[...events].join(' and ')}`);
    }
    const stored = this.#database.tables.orders.get(orderId);
    const isCurrent = String(stored?.generation) === generation;
    const decided = isCurrent ? stored?.status : this.#reopened.get(`${orderId} ${generation}`)?.status;
    if (decided !== status || eventId !== `order-${orderId}-${status}-${generation}`) {
      this.#world.violated(
        'I11',
        `order ${orderId} was announced as ${eventId}, and is ${decided ?? 'unknown'}`,
      );
    }
  }

  #of(process: SimulatedProcess): Knowledge {
    let known = this.#knowledge.get(process);
    if (known === undefined) {
      known = { decided: new Set(), copied: new Map(), deliveredAt: new Map() };
      this.#knowledge.set(process, known);
    }
    return known;
  }
}

/** Longer than an order at work takes to its request. */
const PAUSED_MS = 20_000;
/** By how much the database's clock can be wrong after a few jumps. */
const CLOCKS_MS = 25_000;

const NONE: ReadonlySet<string> = new Set();

/** Of a message that upstream published: `m-<order id>`, or with something behind it. */
export function orderIdOf(messageId: string): string {
  return messageId.split('-')[1] ?? '';
}
