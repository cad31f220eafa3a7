/**
 * The ports that operators' commands reach the world by. The order book and the broker's clients are the real ones over
 * the simulated drivers; parked orders, replays and reconciliations are simulated a level higher, one remote call for
 * each call of their ports.
 */
import { createOrderBook } from '../../src/adapters/postgres/order-book.ts';
import { unusable } from '../../src/adapters/postgres/database-error.ts';
import { storedOrder } from '../../src/adapters/postgres/rows.ts';
import { BrokerConnection } from '../../src/adapters/rabbitmq/connection.ts';
import { parseAmqpUrls } from '../../src/adapters/rabbitmq/endpoint.ts';
import { BrokerNotifier } from '../../src/adapters/rabbitmq/notifier.ts';
import { Publisher } from '../../src/adapters/rabbitmq/publisher.ts';
import { openReplayBroker } from '../../src/adapters/rabbitmq/replay-broker.ts';
import type { GatewayHold, GatewayHolds } from '../../src/ports/gateway-holds.ts';
import type { GatewayInquiry } from '../../src/ports/gateway-inquiry.ts';
import type { Log } from '../../src/ports/log.ts';
import type { Notifier } from '../../src/ports/notifier.ts';
import type { OrderBook } from '../../src/ports/order-book.ts';
import type { ParkedSearch } from '../../src/ports/parked-search.ts';
import type { ReconciliationBook, ReconciliationRun } from '../../src/ports/reconciliation-book.ts';
import type { ReplayBatches } from '../../src/ports/replay-batches.ts';
import type { ReplayBroker } from '../../src/ports/replay-broker.ts';
import { RetriableError } from '../../src/topology/errors.ts';
import type { RandomSource } from '../../src/topology/random.ts';
import { dialFor } from './amqp.ts';
import { LOST } from './database.ts';
import type { Fault } from './faults.ts';
import { START_WALL_MS, type SimulatedProcess } from './machine.ts';
import { remoteCall } from './network.ts';
import type { RunParts } from './run-parts.ts';
import { INQUIRY_WAITS_MS, KEY_WINDOW_MS, NAMES } from './worker.ts';

/** What a command is given; a planted bug gives it something else. */
export interface OperatorOutside {
  readonly book: OrderBook;
  readonly gateway: GatewayInquiry;
  readonly search: ParkedSearch;
  readonly batches: ReplayBatches;
  readonly openBroker: () => Promise<ReplayBroker>;
  readonly openNotifier: () => Promise<Notifier>;
  readonly holds: GatewayHolds;
  readonly reconciliation: ReconciliationBook;
}

export type AlterOperator = (outside: OperatorOutside, run: RunParts) => OperatorOutside;

const GATEWAY_WALL_MS = 8_000;
const DATABASE_WALL_MS = 60_000;
const ENDPOINTS = parseAmqpUrls('amqp://guest:guest@127.0.0.1:5672');

/** Whatever is opened is closed by `close`, as at the end of a command. */
export function operatorPorts(
  run: RunParts,
  process: SimulatedProcess,
  random: RandomSource,
  log: Log,
): { readonly outside: OperatorOutside; readonly close: () => Promise<void> } {
  const means = { clock: process, random, log };
  const dial = dialFor(run, run.broker, process, run.monitor);
  const closing: (() => Promise<void>)[] = [];
  const book = createOrderBook({
    ...means,
    databaseUrl: 'postgres://127.0.0.1:5432/orders',
    leaseMs: 25_000,
    keyWindowMs: KEY_WINDOW_MS,
    inquiryWaitsMs: INQUIRY_WAITS_MS,
    driver: run.database.driverFor(process),
  });
  closing.push(() => book.close({ deadlineMs: 5_000 }));
  let isStarted = false;
  const outside: OperatorOutside = {
    book: {
      availability: book.availability,
      apply(orderId, fact, command) {
        if (!isStarted) book.start();
        isStarted = true;
        return book.apply(orderId, fact, command);
      },
    },
    gateway: run.gateway.portFor(process, GATEWAY_WALL_MS),
    search: parkedSearch(run, process),
    batches: replayBatches(run, process),
    async openBroker() {
      const options = {
        ...means,
        dial,
        endpoints: ENDPOINTS,
        ordersQueue: NAMES.orders,
        prefix: NAMES.prefix,
      };
      const broker = await openReplayBroker(options);
      closing.push(() => broker.close());
      return broker;
    },
    async openNotifier() {
      const connection = new BrokerConnection({ ...means, dial, role: 'publish', endpoints: ENDPOINTS });
      const prepare = () => Promise.resolve();
      const publisher = new Publisher({ ...means, name: 'notifications', connection, prepare });
      closing.push(async () => {
        await publisher.close();
        await connection.close();
      });
      connection.start();
      publisher.start();
      return Promise.resolve(new BrokerNotifier({ publisher, exchange: NAMES.announcements }));
    },
    holds: gatewayHolds(run, process),
    reconciliation: reconciliationBook(run, process),
  };
  return {
    outside,
    close: async () => {
      await Promise.all(closing.map((close) => close()));
    },
  };
}

// --- the database ------------------------------------------------------------------------------------------------

function parkedSearch(run: RunParts, process: SimulatedProcess): ParkedSearch {
  const { parked, sessions } = run.database;
  const ask = asker(run, process);
  return {
    find: (filter) => ask('find parked', () => parked.find(filter, (worker) => sessions.has(worker))),
    messages: (parkIds) => ask('messages of parked', () => parked.messages(parkIds)),
  };
}

function replayBatches(run: RunParts, process: SimulatedProcess): ReplayBatches {
  const { database } = run;
  const { parked } = database;
  const ask = asker(run, process);
  const hold = async (number: number) => {
    const letGo = (): void => {
      if (database.replayHolds.get(number) === process) database.replayHolds.delete(number);
    };
    const take = (): boolean => {
      // The session of a dead command ends with the statement that was on its way.
      if (!process.isAlive || database.replayHolds.has(number)) return false;
      database.replayHolds.set(number, process);
      return true;
    };
    process.onKill(() => {
      run.time.quietlyAfter(1, letGo);
    });
    const isTaken = await ask(`hold ${number}`, take, letGo);
    const release = (): Promise<void> => {
      letGo();
      return Promise.resolve();
    };
    return isTaken ? { release } : undefined;
  };
  return {
    open: (batch, parkIds, command) => ask('open batch', () => parked.open(batch, parkIds, command)),
    show: (batchId) => ask('show batch', () => parked.show(batchId)),
    hold: ({ number }) => hold(number),
    holdUnsealedQueue: () => hold(0),
    waiting: (batchId, after, limit) => ask('waiting members', () => parked.waiting(batchId, after, limit)),
    settle: (batchId, settlements) => ask('settle members', () => parked.settle(batchId, settlements)),
    countParkedAgain: (batchId, count) => ask('count', () => parked.countParkedAgain(batchId, count)),
    finish: (batchId) => ask('finish batch', () => { parked.setState(batchId, 'open', 'done'); }), // prettier-ignore
    stop: (batchId, because) => ask('stop batch', () => { parked.setState(batchId, 'open', 'stopped', because); }), // prettier-ignore
    resume: (batchId) => ask('resume batch', () => { parked.setState(batchId, 'stopped', 'open'); }), // prettier-ignore
    cancel: (batchId, command) => ask('cancel batch', () => parked.cancel(batchId, command)),
    release: (batchId) => ask('release members', () => parked.release(batchId)),
  };
}

function reconciliationBook(run: RunParts, process: SimulatedProcess): ReconciliationBook {
  const { tables } = run.database;
  const ask = asker(run, process);
  return {
    ordersOf: (orderIds) =>
      ask('orders to reconcile', () =>
        orderIds.flatMap((orderId) => {
          const order = tables.orders.get(orderId);
          return order === undefined ? [] : [storedOrder(tables.joined(order))];
        }),
      ),
    // All of a run were begun within any range that is asked for.
    async *approvals() {
      const approved = await ask('approvals to reconcile', () =>
        [...tables.orders.values()].filter(({ order_id: id }) => tables.attemptOf(id)?.state === 'approved'),
      );
      for (const order of approved) yield storedOrder(tables.joined(order));
    },
    keep: (kept: ReconciliationRun) =>
      ask('keep reconciliation', () => {
        run.database.reconciliations.push(kept);
      }),
  };
}

type Ask = <T>(label: string, effect: () => T, onLost?: () => void) => Promise<T>;

function asker(run: RunParts, process: SimulatedProcess): Ask {
  return (label, effect, onLost = () => undefined) =>
    remoteCall(run, {
      site: 'database.operator',
      process,
      label: () => label,
      effect: (fault: Fault | undefined) => {
        if (fault?.kind === 'refused') throw unusable('it has no connection left (53300)');
        return effect();
      },
      lost: (how) => {
        onLost();
        throw unusable(LOST[how]);
      },
      wallMs: DATABASE_WALL_MS,
      isAway: () => run.database.isAway,
    });
}

// --- the gateway's list ------------------------------------------------------------------------------------------

function gatewayHolds(run: RunParts, process: SimulatedProcess): GatewayHolds {
  return {
    name: 'the simulated gateway',
    async *list() {
      yield* await remoteCall<readonly GatewayHold[]>(run, {
        site: 'gateway.list',
        process,
        label: () => 'list',
        effect: () => run.gateway.ledger.map(asListed),
        lost: () => {
          throw new RetriableError('the gateway did not list its authorizations', { errorClass: 'gateway' });
        },
        wallMs: GATEWAY_WALL_MS,
        isAway: () => run.gateway.isAway,
      });
    },
  };
}

function asListed(hold: RunParts['gateway']['ledger'][number]): GatewayHold {
  const { amountMinor, atMs, currency, idempotencyKey, orderId, reference, voidedAtMs } = hold;
  const state = voidedAtMs === undefined ? 'held' : 'released';
  return {
    reference,
    orderId,
    idempotencyKey,
    amountMinor,
    currency,
    state,
    createdAtMs: START_WALL_MS + atMs,
  };
}
