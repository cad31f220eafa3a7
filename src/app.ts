/**
 * The worker, put together: every part is built here, once, and given what it needs. Nothing else knows everyone.
 *
 *     orders queue -> OrdersSpout -> AuthorizeCreditCard -> ProcessedOrderNotification -> notification exchange
 *                                             `-> ParkOrder -> parking lot
 *     system of record -> UnresolvedOrdersSpout -> InquireAuthorization -> ProcessedOrderNotification
 *
 * Beside it, parked-topology.ts records what is parked.
 */
import { hostname } from 'node:os';

import { createCardCipher } from './adapters/jose/card-cipher.ts';
import { guardGateway } from './adapters/gateway/guard.ts';
import type { Driver } from './adapters/postgres/connection.ts';
import { FleetLink, type FleetLinkOptions } from './adapters/postgres/fleet-link.ts';
import { createOrderBook } from './adapters/postgres/order-book.ts';
import { PostgresRetryLedger, type RetryLedgerOptions } from './adapters/postgres/retry-ledger.ts';
import { openUnresolvedOrders } from './adapters/postgres/unresolved-orders.ts';
import { BrokerConnection, type Dial } from './adapters/rabbitmq/connection.ts';
import {
  declareLevelQueues,
  declareNotificationExchange,
  declareOrdersQueue,
  declareParkedQueue,
} from './adapters/rabbitmq/declare.ts';
import { parseAmqpUrls } from './adapters/rabbitmq/endpoint.ts';
import { BrokerNotifier } from './adapters/rabbitmq/notifier.ts';
import { OrdersSpout } from './adapters/rabbitmq/orders-spout.ts';
import { BrokerParkingLot } from './adapters/rabbitmq/parking-lot.ts';
import { Publisher } from './adapters/rabbitmq/publisher.ts';
import { RetryCopies } from './adapters/rabbitmq/retry-copies.ts';
import { AuthorizeCreditCard, type AuthorizeStreams } from './bolts/authorize-credit-card.ts';
import { InquireAuthorization, type InquireStreams } from './bolts/inquire-authorization.ts';
import type { AnnouncedValues, OrderValues } from './bolts/order-values.ts';
import { ParkOrder } from './bolts/park-order.ts';
import { ProcessedOrderNotification } from './bolts/processed-order-notification.ts';
import type { WorkerConfig } from './config/config.ts';
import { NOTIFICATION_MARGIN_MS, RECORDING_MARGIN_MS } from './config/preconditions.ts';
import { openGateway } from './gateway.ts';
import { holdIntakeWhileUnavailable } from './intake.ts';
import { orderScheme } from './order-scheme.ts';
import { admit, admitOpened } from './domain/admission.ts';
import { asUpstreamSentIt } from './ports/copy-body.ts';
import { buildParkedTopology } from './parked-topology.ts';
import type { Availability } from './ports/availability.ts';
import type { Log } from './ports/log.ts';
import type { RetryLedger } from './ports/retry-ledger.ts';
import { UnresolvedOrdersSpout, type UnresolvedValues } from './spouts/unresolved-orders-spout.ts';
import { readinessOf, type Readiness } from './telemetry/readiness.ts';
import { FailureCounts, workerReporter } from './telemetry/worker-report.ts';
import { sealedCopies } from './sealed-copies.ts';
import type { BasicBolt } from './topology/bolt.ts';
import { TopologyBuilder } from './topology/builder.ts';
import type { DrainReport } from './topology/drain.ts';
import { shuffle } from './topology/groupings.ts';
import type { BackoffRule, ReplayRules } from './topology/replay-policy.ts';
import type { Clock } from './topology/clock.ts';
import type { RandomSource } from './topology/random.ts';
import { TopologyRunner } from './topology/runner.ts';
import { systemClock, systemRandom } from './topology/system-clock.ts';

/** A worker, from start to end: `start`, then `drain` once; a second `drain` skips the waiting. */
export interface Worker {
  /** Resolves when everything is started; what is away by then is connected to as soon as it is there. */
  start(): Promise<void>;
  readiness(): Readiness;
  /** Calls `listener` after anything that readiness depends on has changed. */
  onReadinessChange(listener: () => void): void;
  /** Stops the intake, lets in-flight orders settle, gives the rest back, and closes everything. */
  drain(): Promise<DrainReport>;
}

/** What the worker reaches the rest of the world by: the system, or what a simulation has in its place. */
export interface Outside {
  readonly clock: Clock;
  readonly random: RandomSource;
  /** Opens a connection to the broker; amqplib unless given. */
  readonly dial?: Dial;
  /** How the database is reached; pg unless given. */
  readonly driver?: Driver;
  readonly openGateway: typeof openGateway;
  readonly guardGateway: typeof guardGateway;
  readonly openFleetLink: (
    options: FleetLinkOptions,
  ) => Availability & { start(): void; close(): Promise<void> };
  readonly openRetryLedger: (
    options: RetryLedgerOptions,
  ) => RetryLedger & { start(): void; close(): Promise<void> };
  readonly buildParkedTopology: typeof buildParkedTopology;
}

const theSystem = (): Outside => ({
  clock: systemClock,
  random: systemRandom(),
  openGateway,
  guardGateway,
  openFleetLink: (options) => new FleetLink(options),
  openRetryLedger: (options) => new PostgresRetryLedger(options),
  buildParkedTopology,
});

export function buildWorker(
  config: WorkerConfig,
  version: string,
  log: Log,
  outside: Outside = theSystem(),
): Worker {
  const { broker, database, gateway: gatewayConfig, orders, topology: limits } = config;
  const { clock, dial, driver, random } = outside;
  const means = { clock, random, log };

  // The system of record.
  const book = createOrderBook({
    ...means,
    driver,
    databaseUrl: database.url.reveal(),
    leaseMs: limits.leaseMs,
    keyWindowMs: gatewayConfig.keyWindowMs,
    softDeclineRetry: orders.softDeclineRetry,
    inquiryWaitsMs: gatewayConfig.inquiryWaitsMs,
  });
  const unresolvedOrders = openUnresolvedOrders({
    driver,
    databaseUrl: database.url.reveal(),
    holdMs: limits.messageTimeoutMs,
    log,
  });
  const ledger = outside.openRetryLedger({ ...means, databaseUrl: database.url.reveal() });

  // The gateway, behind what stops asking it while that makes no sense.
  const unguarded = outside.openGateway(gatewayConfig, log);
  const gateway = outside.guardGateway(unguarded, { ...means, mostInWork: limits.maxSpoutPending });

  // What an order is, and how its card is opened, and sealed in copies.
  const rules = {
    defaultCurrency: orders.defaultCurrency,
    maxAmount: orders.maxAmount,
    fingerprintKey: Buffer.from(orders.fingerprintKey.reveal()),
  };
  const cipher = orders.cardKeys === undefined ? undefined : createCardCipher(orders.cardKeys);
  const copyBody = cipher === undefined ? asUpstreamSentIt : sealedCopies(cipher);

  // The broker: consuming and publishing never share a connection, announcements and copies never a channel.
  const endpoints = parseAmqpUrls(broker.urls.reveal(), broker.tls);
  const { ordersQueue, prefix, declare: mode, notificationsExchange: exchange } = broker;
  const consuming = new BrokerConnection({ ...means, dial, role: 'consume', endpoints });
  const publishing = new BrokerConnection({ ...means, dial, role: 'publish', endpoints });
  const announcements = new Publisher({
    ...means,
    name: 'notifications',
    connection: publishing,
    prepare: (link) => declareNotificationExchange({ ...means, link }, { exchange, mode }),
  });
  const copies = new Publisher({
    ...means,
    name: 'retry and parked copies',
    connection: publishing,
    prepare: async (link) => {
      await declareParkedQueue({ ...means, link }, prefix);
      await declareLevelQueues({ ...means, link }, { prefix, ordersQueue, levelsMs: limits.retryLevelsMs });
    },
  });
  const lot = new BrokerParkingLot({ ...means, publisher: copies, prefix, workerVersion: version, copyBody });
  const notifier = new BrokerNotifier({ publisher: announcements, exchange });
  const retryCopies = new RetryCopies({
    publisher: copies,
    prefix,
    ordersQueue,
    levelsMs: limits.retryLevelsMs,
    copyBody,
    ledger,
  });

  // The topology.
  const spout = new OrdersSpout<OrderValues>({
    ...means,
    connection: consuming,
    queue: ordersQueue,
    prepare: (link) => declareOrdersQueue({ ...means, link }, { queue: ordersQueue, prefix, mode }),
    scheme: orderScheme(rules),
    parkingLot: lot,
    retryCopies,
    onReturned: (copyId) => {
      ledger.returned(copyId);
    },
    replayRules: replayRules(limits, () => gateway.availability.unavailableBecause() !== undefined),
    isDecided: ({ where, errorClass }) =>
      where.component === 'processed-order-notification' || errorClass === 'soft_decline',
    maxSpoutPending: limits.maxSpoutPending,
  });
  const authorize = new AuthorizeCreditCard({
    ...means,
    book,
    gateway,
    openCard: async (order) => admitOpened(order, await cipher?.open(order.card), rules),
    gatewayWallMs: gatewayConfig.timeoutMs,
    recordingMarginMs: RECORDING_MARGIN_MS + NOTIFICATION_MARGIN_MS,
  });
  const unresolved = new UnresolvedOrdersSpout({
    ...means,
    orders: unresolvedOrders,
    everyMs: resolverPaceMs(gatewayConfig.inquiryWaitsMs),
  });
  const inquire = new InquireAuthorization({ book, gateway: unguarded, log });
  const notify = new ProcessedOrderNotification({ ...means, notifier, book });
  const park = new ParkOrder({ lot, book, log });
  // Bolts that wait for others all the time: as many at once as there can be trees.
  const concurrency = limits.maxSpoutPending;
  const topology = new TopologyBuilder()
    .spout('orders', {
      spout,
      streams: { orders: ['admission', 'message'], exhausted: ['admission', 'message', 'exhaustedBecause'] },
      maxSpoutPending: limits.maxSpoutPending,
    })
    .bolt('authorize-credit-card', {
      create: (): BasicBolt<OrderValues, AuthorizeStreams> => authorize,
      inputs: [{ from: 'orders', stream: 'orders', grouping: shuffle }],
      streams: { processed: ['admission', 'message', 'notification'], parked: ['parked'] },
      concurrency,
    })
    .spout('unresolved', {
      spout: unresolved,
      streams: { unresolved: ['orderId'] },
      maxSpoutPending: MOST_INQUIRIES_AT_ONCE,
    })
    .bolt('inquire-authorization', {
      create: (): BasicBolt<UnresolvedValues, InquireStreams> => inquire,
      inputs: [{ from: 'unresolved', stream: 'unresolved', grouping: shuffle }],
      streams: { processed: ['notification'] },
      concurrency: MOST_INQUIRIES_AT_ONCE,
    })
    .bolt('processed-order-notification', {
      create: (): BasicBolt<AnnouncedValues> => notify,
      inputs: [
        { from: 'authorize-credit-card', stream: 'processed', grouping: shuffle },
        { from: 'inquire-authorization', stream: 'processed', grouping: shuffle },
      ],
      concurrency,
    })
    .bolt('park-order', {
      create: () => park,
      inputs: [
        { from: 'authorize-credit-card', stream: 'parked', grouping: shuffle },
        { from: 'orders', stream: 'exhausted', grouping: shuffle },
        { from: 'authorize-credit-card', stream: 'error', grouping: shuffle },
        { from: 'processed-order-notification', stream: 'error', grouping: shuffle },
      ],
      concurrency,
    })
    .build({ messageTimeoutMs: limits.messageTimeoutMs });
  const failures = new FailureCounts();
  const runner = new TopologyRunner(topology, {
    ...means,
    onTreeFailed: (failure) => {
      failures.count(failure);
    },
    closeTimeoutMs: CLOSE_TIMEOUT_MS,
    onProblem: ({ component, during, error }) => {
      log.error({ component, phase: during, err: error }, 'a part of the topology broke its contract');
    },
  });

  const parkedTopology = outside.buildParkedTopology({
    ...means,
    endpoints,
    prefix,
    databaseUrl: database.url.reveal(),
    databaseAvailability: book.availability,
    book,
    cipher,
    copyBody,
    admit: (body) => admit(body, rules),
    open: async (admission) =>
      admission.kind === 'sealed'
        ? admitOpened(admission.order, await cipher?.open(admission.order.card), rules)
        : admission,
    publisher: copies,
    parkingLot: lot,
  });

  // What everything depends on; the intake is held while any of it is away, or the operators hold it.
  const operators = outside.openFleetLink({
    ...means,
    databaseUrl: database.url.reveal(),
    identity: { host: hostname(), pid: process.pid, version, startedAtMs: means.clock.wallMs() },
    worker: () => book.worker,
    report: () => report(),
  });
  const dependencies = [
    operators,
    book.availability,
    gateway.availability,
    announcements.availability,
    copies.availability,
  ];
  const watched = [spout.availability, ...dependencies];
  let state = 'starting';
  let stopHolding = (): void => undefined;

  const report = workerReporter({
    runner,
    gateway: gateway.availability,
    gatewayName: gatewayConfig.dialect,
    dependencies: watched,
    failures,
    state: () => state,
    nowMs: () => means.clock.nowMs(),
  });

  /** What holds the intake besides a dependency that speaks for itself. */
  const heldByOthers = (): string[] => {
    const unavailable = watched
      .filter((each) => each.unavailableBecause() !== undefined)
      .map(({ name }) => name);
    return runner.pauseReasons.filter((reason) => !unavailable.includes(reason));
  };

  let hurry = (): void => undefined;
  const inAHurry = new Promise<void>((resolve) => (hurry = resolve));

  const drainBoth = async (deadlineMs: number): Promise<DrainReport> => {
    const [report] = await Promise.all([runner.drain(deadlineMs), parkedTopology.drain(deadlineMs)]);
    return report;
  };

  return {
    async start() {
      book.start();
      operators.start();
      publishing.start();
      announcements.start();
      copies.start();
      stopHolding = holdIntakeWhileUnavailable(runner, dependencies, log);
      ledger.start();
      await Promise.all([runner.start(), parkedTopology.start()]);
      if (state === 'starting') state = 'running';
    },

    readiness: () => readinessOf({ state, dependencies: watched, holds: heldByOthers() }),

    onReadinessChange(listener) {
      for (const availability of watched) availability.onChange(listener);
    },

    async drain() {
      if (state === 'draining') {
        hurry();
        return drainBoth(0);
      }
      state = 'draining';
      stopHolding();
      const report = await drainBoth(limits.drainMs);
      await Promise.all([operators.close(), announcements.close(), copies.close()]);
      await publishing.close();
      await Promise.all([
        book.close({ deadlineMs: CLOSE_DEADLINE_MS }),
        unresolvedOrders.close(),
        parkedTopology.close(),
        ledger.close(),
      ]);
      gateway.close();
      // Its answers could not be recorded any more: they come again, by the same key, to whoever goes on.
      await Promise.race([unguarded.close(), inAHurry]);
      state = 'stopped';
      return report;
    },
  };
}

const CLOSE_DEADLINE_MS = 5_000;
/** Longer than the deadline of a retry copy under way. */
const CLOSE_TIMEOUT_MS = 12_000;

/** Charging comes first: inquiries take few of the gateway's connections. */
const MOST_INQUIRIES_AT_ONCE = 8;

/** Often enough that a wait of the schedule is kept about exactly, and rarely enough to cost nothing. */
function resolverPaceMs([firstWaitMs = 0]: readonly number[]): number {
  return Math.min(5_000, Math.max(200, firstWaitMs / 4));
}

/**
 * Ceilings of 1 s, 5 s, 25 s, 2 min, 10 min, 52 min, 1 h by default: each replay finds a level queue of about its wait.
 * Where the fault is not the order's own and the intake is held for it, its replays are not used up. A fault of the
 * gateway may be the order's own, unless it met others as well: then the gateway is stopped by the time it counts.
 */
function replayRules(limits: WorkerConfig['topology'], isGatewayStopped: () => boolean): ReplayRules {
  const baseMs = limits.retryLevelsMs[0] ?? 1_000;
  const capMs = limits.retryLevelsMs.at(-1) ?? baseMs;
  const otherwise = { baseMs, factor: 5, capMs, maxReplays: limits.maxAttempts };
  const notItsOwn = { baseMs, capMs: Math.min(capMs, 30_000), maxReplays: Infinity, isCounted: false };
  const gatewayFault = (): BackoffRule => (isGatewayStopped() ? notItsOwn : otherwise);
  return {
    otherwise,
    byErrorClass: {
      // A confirm that was lost with its connection, or swallowed: the broker's fault, never the order's.
      ambiguous: notItsOwn,
      bad_gateway: gatewayFault,
      breaker_open: notItsOwn,
      claimed_elsewhere: notItsOwn,
      configuration: notItsOwn,
      connection_lost: gatewayFault,
      database: notItsOwn,
      no_answer: gatewayFault,
      nacked: notItsOwn,
      not_sent: notItsOwn,
      publisher_unavailable: notItsOwn,
      // Its tries are counted by the order itself, and their waits are hours and days.
      soft_decline: notItsOwn,
      rate_limited: notItsOwn,
      server_error: gatewayFault,
    },
  };
}
