/** Bugs of operators' commands that the simulation must find. */
import { START_WALL_MS } from './machine.ts';
import type { Plant } from './planting.ts';

export const OPERATOR_PLANTS: readonly Plant[] = [
  {
    name: 'operators leave no audit row',
    alterOperator: (outside) => ({
      ...outside,
      book: { ...outside.book, apply: (orderId, fact) => outside.book.apply(orderId, fact) },
    }),
  },
  {
    name: 'a replay leaves parked what it has published',
    alterOperator: (outside) => ({
      ...outside,
      batches: {
        ...outside.batches,
        settle: (batchId, settlements) =>
          outside.batches.settle(
            batchId,
            settlements.map((one) => ({ ...one, as: 'left' })),
          ),
      },
    }),
  },
  {
    name: 'two commands work on one replay',
    alterOperator: (outside) => ({
      ...outside,
      batches: { ...outside.batches, hold: () => Promise.resolve({ release: () => Promise.resolve() }) },
    }),
  },
  {
    name: 'a replay is marked before its confirm',
    alterOperator: (outside) => ({
      ...outside,
      openBroker: async () => {
        const broker = await outside.openBroker();
        return {
          ...broker,
          publish: (message) => {
            broker.publish(message).catch(() => undefined);
            return Promise.resolve();
          },
        };
      },
    }),
  },
  {
    name: 'a replay opens decided orders again',
    alterOperator: (outside) => ({
      ...outside,
      openBroker: async () => {
        const broker = await outside.openBroker();
        return {
          ...broker,
          publish: async (message) => {
            const orderId = message.messageId?.split('-')[1] ?? '';
            const command = { commandId: orderId, actor: 'operator', action: 'parked replay', reason: 'bug' };
            await outside.book.apply(orderId, { kind: 'reopened', generation: 1 }, command);
            await broker.publish(message);
          },
        };
      },
    }),
  },
  {
    name: 'reconcile takes a request for an approval',
    alterOperator: (outside, { database }) => ({
      ...outside,
      holds: {
        name: outside.holds.name,
        async *list(range) {
          yield* outside.holds.list(range);
          for (const order of database.tables.orders.values()) {
            if (order.status !== 'authorization-unknown') continue;
            const { order_id: orderId, amount_minor: amountMinor, currency } = order;
            const reference = `requested-${orderId}`;
            const hold = { reference, orderId, amountMinor: BigInt(amountMinor), currency };
            yield { ...hold, state: 'held', idempotencyKey: undefined, createdAtMs: START_WALL_MS };
          }
        },
      },
      gateway: {
        ...outside.gateway,
        lookup: async (request) => {
          const { reference } = request;
          if (reference?.startsWith('requested-') === true) return { kind: 'approved', reference };
          return outside.gateway.lookup(request);
        },
      },
    }),
  },
  {
    name: 'announced again under another event id',
    alterOperator: (outside) => ({
      ...outside,
      openNotifier: async () => {
        const notifier = await outside.openNotifier();
        return {
          notify: (notification) =>
            notifier.notify({ ...notification, eventId: `${notification.eventId}-again` }),
        };
      },
    }),
  },
  {
    name: 'a pause is not heard',
    alter: (outside) => ({
      ...outside,
      openFleetLink: (options) => ({
        ...outside.openFleetLink(options),
        unavailableBecause: () => undefined,
      }),
    }),
  },
];
