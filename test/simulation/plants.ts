/** Bugs of workers that the simulation must find. */
import type { Channel } from 'amqplib';

import { PostgresOrderBook } from '../../src/adapters/postgres/order-book.ts';
import { Custody } from '../../src/adapters/rabbitmq/custody.ts';
import { settle } from '../../src/adapters/rabbitmq/delivery.ts';
import { OrdersSpout } from '../../src/adapters/rabbitmq/orders-spout.ts';
import { BrokerNotifier } from '../../src/adapters/rabbitmq/notifier.ts';
import { BrokerParkingLot } from '../../src/adapters/rabbitmq/parking-lot.ts';
import { RetryCopies } from '../../src/adapters/rabbitmq/retry-copies.ts';
import type { OrderFact, StoredOrder } from '../../src/domain/order-states.ts';
import { Acker } from '../../src/topology/acker.ts';
import type { Clock } from '../../src/topology/clock.ts';
import {
  charging,
  replace,
  staleTags,
  withChannels,
  withGateway,
  withoutFence,
  withStatements,
  type Plant,
} from './planting.ts';

export const WORKER_PLANTS: readonly Plant[] = [
  // --- the gateway -------------------------------------------------------------------------------------------------
  {
    name: 'random key',
    alter: withGateway((port, random) => ({
      authorize: (request) =>
        port.authorize({ ...request, idempotencyKey: `${request.idempotencyKey}-${random.next32()}` }),
    })),
  },
  {
    name: 'new key on replay',
    alter: withGateway((port) => {
      const tries = new Map<string, number>();
      return {
        authorize(request) {
          const { idempotencyKey: key } = request;
          const before = tries.get(key) ?? 0;
          tries.set(key, before + 1);
          return port.authorize(before === 0 ? request : { ...request, idempotencyKey: `${key}-${before}` });
        },
      };
    }),
  },
  {
    name: 'timeout taken for a decline',
    alter: withGateway((port) => ({
      async authorize(request) {
        const outcome = await port.authorize(request);
        if (outcome.kind !== 'unknown' || outcome.cause !== 'no_answer') return outcome;
        return { kind: 'declined', reason: 'card_declined', class: 'hard', code: 'timeout' };
      },
    })),
  },
  {
    name: '"not found" taken for "not charged"',
    alter: withGateway((port) => ({
      async lookup(request) {
        const outcome = await port.lookup(request);
        if (outcome.kind !== 'undecided' || outcome.cause !== 'not_found') return outcome;
        return { kind: 'declined', reason: 'card_declined', class: 'hard', code: 'not_found' };
      },
    })),
  },
  {
    name: 'wrong amount',
    alter: withGateway((port) => ({
      authorize({ order, idempotencyKey }) {
        const terms = { ...order.terms, amountMinor: (order.terms.amountMinor / 100n) * 100n };
        return port.authorize({ order: { ...order, terms }, idempotencyKey });
      },
    })),
  },
  {
    name: 'void said, not done',
    alter: withGateway(() => ({ void: () => Promise.resolve({ kind: 'voided' }) })),
  },
  // --- the system of record ----------------------------------------------------------------------------------------
  {
    name: 'no status check',
    patch: () =>
      replace(
        PostgresOrderBook.prototype,
        'apply',
        (apply) =>
          async function (this: PostgresOrderBook, orderId: string, fact: OrderFact) {
            const decision = await apply.call(this, orderId, fact);
            const { attempt } = decision.order ?? {};
            if (fact.kind !== 'claim' || decision.next.step !== 'announce' || attempt === undefined)
              return decision;
            return charging(decision, attempt);
          },
      ),
  },
  {
    name: 'no claim before the charge',
    patch: () =>
      replace(
        PostgresOrderBook.prototype,
        'apply',
        (apply) =>
          function (this: PostgresOrderBook, orderId: string, fact: OrderFact) {
            const applied = apply.call(this, orderId, fact);
            if (fact.kind !== 'claim') return applied;
            applied.catch(() => undefined);
            const attempt = { idempotencyKey: `order-${orderId}-1`, claim: 1 };
            return Promise.resolve(charging({ order: undefined, alarm: undefined }, attempt));
          },
      ),
  },
  {
    name: 'announced before it is recorded',
    patch: () => {
      const claimed = new Map<string, StoredOrder>();
      return replace(
        PostgresOrderBook.prototype,
        'apply',
        (apply) =>
          async function (this: PostgresOrderBook, orderId: string, fact: OrderFact) {
            const order = claimed.get(orderId);
            const applied = apply.call(this, orderId, fact);
            if (fact.kind === 'outcome' && fact.outcome.kind === 'approved' && order !== undefined) {
              applied.catch(() => undefined);
              return {
                order: { ...order, status: 'ready-to-ship', decidedAtMs: 0 },
                next: { step: 'announce' },
                alarm: undefined,
              };
            }
            const decision = await applied;
            if (decision.order !== undefined) claimed.set(orderId, decision.order);
            return decision;
          },
      );
    },
  },
  {
    name: 'lease ignored',
    alter: withStatements((statement, rows) => (statement === 'living workers' ? [] : rows)),
  },
  {
    name: 'key window ignored',
    alter: withStatements((statement, rows) =>
      statement === 'read orders' ? rows.map((row) => ({ ...row, key_used_since_ms: null })) : rows,
    ),
  },
  { name: 'writes are not fenced', alter: withoutFence() },
  // --- the topology ------------------------------------------------------------------------------------------------
  {
    name: 'acker of few bits',
    patch: () => {
      const few = (bits: number) => bits & 3;
      return replace(
        Acker.prototype,
        'report',
        (report) =>
          function (this: Acker, root: number, low: number, high: number) {
            return report.call(this, root, few(low), few(high) & 0);
          },
      );
    },
  },
  {
    name: 'deadlines by the wall clock',
    alter: (outside) => {
      const { clock } = outside;
      const byTheWall: Clock = {
        nowMs: () => clock.wallMs(),
        wallMs: () => clock.wallMs(),
        setTimer: (delayMs, callback) => clock.setTimer(delayMs, callback),
        defer: (callback) => clock.defer(callback),
      };
      return { ...outside, clock: byTheWall };
    },
  },
  {
    name: 'leaking acker',
    patch: () => replace(Acker.prototype, 'fail', () => () => true),
  },
  // --- announcing and parking --------------------------------------------------------------------------------------
  {
    name: 'swallowed error of the announcement',
    patch: () =>
      replace(
        BrokerNotifier.prototype,
        'notify',
        (notify) =>
          function (this: BrokerNotifier, notification) {
            return notify.call(this, notification).catch(() => undefined);
          },
      ),
  },
  {
    name: 'ack before the mark',
    patch: () =>
      replace(
        PostgresOrderBook.prototype,
        'apply',
        (apply) =>
          function (this: PostgresOrderBook, orderId: string, fact: OrderFact) {
            const applied = apply.call(this, orderId, fact);
            if (fact.kind !== 'notified') return applied;
            applied.catch(() => undefined);
            return Promise.resolve({ order: undefined, next: { step: 'nothing' }, alarm: undefined });
          },
      ),
  },
  {
    name: 'parked without confirm',
    patch: () =>
      replace(
        BrokerParkingLot.prototype,
        'park',
        (park) =>
          function (this: BrokerParkingLot, parked) {
            park.call(this, parked).catch(() => undefined);
            return Promise.resolve();
          },
      ),
  },
  {
    name: 'retry copy acked before its confirm',
    patch: () =>
      replace(
        RetryCopies.prototype,
        'send',
        (send) =>
          function (this: RetryCopies, delivery, waitMs) {
            send.call(this, delivery, waitMs).catch(() => undefined);
            return Promise.resolve();
          },
      ),
  },
  {
    name: 'returned messages taken for published',
    alter: withChannels((channel) => {
      const on = channel.on.bind(channel);
      const deaf = (event: string, listener: () => void) =>
        event === 'return'
          ? channel
          : (on as (event: string, listener: () => void) => Channel)(event, listener);
      channel.on = deaf as typeof channel.on;
    }),
  },
  // --- settling deliveries -----------------------------------------------------------------------------------------
  {
    name: 'early ack',
    patch: () =>
      replace(
        Custody.prototype,
        'next',
        (next) =>
          function (this: Custody<unknown>) {
            const order = next.call(this);
            if (order !== undefined) settle(order.delivery, 'ack');
            return order;
          },
      ),
  },
  {
    name: 'failed orders acked',
    patch: () =>
      replace(
        OrdersSpout.prototype,
        'fail',
        () =>
          function (this: OrdersSpout<never>, messageId: string) {
            this.ack(messageId);
          },
      ),
  },
  {
    name: 'acked twice',
    alter: withChannels((channel) => {
      const ack = channel.ack.bind(channel);
      channel.ack = (message) => {
        ack(message);
        ack(message);
      };
    }),
  },
  {
    name: 'stale tag acked on the new channel',
    ...staleTags(),
  },
  {
    name: 'duplicates dropped from memory',
    patch: () => {
      const seen = new WeakMap<object, Set<string>>();
      return replace(
        Custody.prototype,
        'admit',
        (admit) =>
          function (this: Custody<unknown>, messageId, delivery, values) {
            const mine = seen.get(this) ?? new Set<string>();
            seen.set(this, mine);
            if (mine.has(messageId)) settle(delivery, 'ack');
            else admit.call(this, messageId, delivery, values);
            mine.add(messageId);
          },
      );
    },
  },
  {
    name: 'failed orders given back at once',
    patch: () =>
      replace(
        OrdersSpout.prototype,
        'fail',
        (fail) =>
          function (this: OrdersSpout<never>, messageId, failure) {
            fail.call(this, messageId, { ...failure, reason: 'shutdown' });
          },
      ),
  },
];
