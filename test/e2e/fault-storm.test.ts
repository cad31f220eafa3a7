/**
 * Two workers, every kind of fault, 2,000 orders. Both workers are killed, stopped and cut off from broker and database
 * now and then. At the end nobody's word is taken for anything: the gateway's ledger, the database, downstream's
 * receipts and the parking lot are held against each other, order by order.
 *
 * CARDAUTH_STORM_SEED repeats a run's faults and the order of its blows; their timing is the machine's.
 */
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { levelQueueOf } from '../../src/adapters/rabbitmq/declare.ts';
import { balance, type Evidence } from '../../src/demo/books.ts';
import { demoOrders, type DemoOrder } from '../../src/demo/orders.ts';
import { nextBelow, seededRandom, type RandomSource } from '../../src/topology/random.ts';
import { startProxy } from '../support/tcp-proxy.ts';
import { waitFor } from '../support/wait-for.ts';
import type { WorkerProcess } from '../support/worker-process.ts';
import { openStage, type Environment, type OrderRow, type Stage } from './stage.ts';
import { dealtFaults, isBent, mayDecline, stormFaults } from './storm-faults.ts';

const ORDERS = 2_000;
const PUBLISH_MS = 25_000;
const SLICE = 50;
const PATIENCE_MS = 60_000;
/** For so long at most a worker holds a message, its short waits for replays included, while the queues look empty. */
const LONGEST_IN_FLIGHT_MS = 3_000;

const SETTINGS = {
  CARDAUTH_GATEWAY_TIMEOUT_MS: '1200',
  CARDAUTH_LEASE_MS: '4000',
  CARDAUTH_MESSAGE_TIMEOUT_MS: '6000',
  CARDAUTH_DRAIN_MS: '4000',
  CARDAUTH_MAX_ATTEMPTS: '12',
  LOG_LEVEL: 'info',
};

it(
  'fault storm: ledger, database, receipts and parking lot agree on every order',
  { timeout: 180_000 },
  async (t) => {
    const seed = Number(process.env['CARDAUTH_STORM_SEED'] ?? randomInt(2 ** 31));
    t.diagnostic(`seed ${seed}`);
    const stage = await openStage(t);
    const orders = demoOrders(ORDERS);
    const parked = new ParkedSightings(stage);
    const random = seededRandom(seed);
    const dealt = dealtFaults(chargedOrderIds(orders), random);
    await stage.gateway.setFaults([...dealt, ...stormFaults(seed)]);

    const storm = await Storm.begin(t, stage, random);
    // Held requests go on after half a second at most.
    const releasing = setInterval(() => void stage.gateway.release(), 500);
    t.after(() => {
      clearInterval(releasing);
    });
    await Promise.all([publish(stage, orders), storm.blow()]);
    await waitFor(
      'every order to be announced or parked',
      async () => {
        await parked.look();
        return missing(stage, orders, parked).length === 0;
      },
      { timeoutMs: PATIENCE_MS, intervalMs: 250 },
    ).catch(() => undefined); // The books say it better.
    await storm.end();
    await finishLeftovers(stage);
    clearInterval(releasing);
    await parked.look();

    const evidence = await evidenceOf(stage, orders, parked);
    const books = balance(evidence);
    t.diagnostic(JSON.stringify(books));
    assert.deepEqual(books.problems, [], `seed ${seed}`);
    assert.deepEqual([books.chargedTwice, books.lost], [0, 0], `seed ${seed}`);
    await everyFaultWasMet(stage, dealt.length);
    await everyOrderIsWhatItsFaultsAllow(stage, orders, seed);
    assert.ok(books.readyToShip > 0.7 * ORDERS, `only ${books.readyToShip} orders are ready to ship`);
  },
);

/**
 * An order that the resolver settled may have a message that still waits for its replay, and comes back when its worker
 * ends. In the calm after the storm another worker takes what is left, and gives up soon what gets nothing but errors.
 */
async function finishLeftovers(stage: Stage): Promise<void> {
  for (let round = 0; round < 5 && (await leftOnQueues(stage)) > 0; round += 1) {
    const worker = await stage.startWorker({ ...SETTINGS, CARDAUTH_MAX_ATTEMPTS: '2' });
    let emptySinceMs = Infinity;
    await waitFor(
      'the queues to be empty, and to stay so',
      async () => {
        const nowMs = performance.now();
        emptySinceMs = (await leftOnQueues(stage)) > 0 ? Infinity : Math.min(emptySinceMs, nowMs);
        return nowMs - emptySinceMs > LONGEST_IN_FLIGHT_MS;
      },
      { timeoutMs: 40_000, intervalMs: 100 },
    );
    worker.kill('SIGTERM');
    await worker.exited;
  }
}

/** A worker's ways to broker and database. */
type Ways = Readonly<Record<'broker cut' | 'database cut', { cut(): void }>>;

/** What befalls each of the two workers. */
const BLOWS = [0, 1].flatMap((which) =>
  (['SIGKILL', 'SIGKILL', 'SIGTERM', 'broker cut', 'database cut'] as const).map((kind) => ({ which, kind })),
);

/** The worst that happens to workers from outside, in the order that the random numbers say. */
class Storm {
  readonly #stage: Stage;
  readonly #random: RandomSource;
  readonly #workers: WorkerProcess[] = [];
  readonly #environments: readonly Environment[];
  readonly #ways: readonly Ways[];

  private constructor(
    stage: Stage,
    random: RandomSource,
    environments: readonly Environment[],
    ways: readonly Ways[],
  ) {
    this.#stage = stage;
    this.#random = random;
    this.#environments = environments;
    this.#ways = ways;
  }

  static async begin(t: TestContext, stage: Stage, random: RandomSource): Promise<Storm> {
    const environments: Environment[] = [];
    const ways: Ways[] = [];
    for (let n = 0; n < 2; n += 1) {
      const broker = await startProxy({ target: stage.broker.url });
      const database = await startProxy({ target: stage.databaseUrl });
      t.after(() => Promise.all([broker.close(), database.close()]));
      environments.push({ ...SETTINGS, AMQP_URL: broker.url, DATABASE_URL: database.url });
      ways.push({ 'broker cut': broker, 'database cut': database });
    }
    const storm = new Storm(stage, random, environments, ways);
    storm.#workers.push(
      ...(await Promise.all(environments.map((environment) => stage.startWorker(environment)))),
    );
    return storm;
  }

  /** Every blow once, in the order of the random numbers, with a pause before each. */
  async blow(): Promise<void> {
    for (const { kind, which } of shuffled(BLOWS, this.#random)) {
      await sleep(500 + nextBelow(this.#random, 1_000));
      if (kind === 'SIGKILL' || kind === 'SIGTERM') await this.#replace(which, kind);
      else this.#ways[which]?.[kind].cut();
    }
  }

  async #replace(which: number, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    this.#workers[which]?.kill(signal);
    await this.#workers[which]?.exited;
    this.#workers[which] = await this.#stage.startWorker(this.#environments[which]);
  }

  /** In good order: what the workers still hold goes back to the queue and is counted there. */
  async end(): Promise<void> {
    for (const worker of this.#workers) worker.kill('SIGTERM');
    for (const worker of this.#workers) assert.deepEqual(await worker.exited, { code: 0, signal: null });
  }
}

class ParkedSightings {
  readonly seen: Evidence['parked'][number][] = [];
  readonly #stage: Stage;

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  /** Sees what is parked and recorded by now. */
  async look(): Promise<void> {
    for (const row of await this.#stage.parked.rest()) {
      this.seen.push({ orderId: row.order_id ?? undefined, messageId: row.message_id ?? undefined });
    }
  }
}

async function publish(stage: Stage, orders: readonly DemoOrder[]): Promise<void> {
  const { client, broker } = stage;
  for (let from = 0; from < orders.length; from += SLICE) {
    const pause = sleep((PUBLISH_MS * SLICE) / orders.length);
    await Promise.all(
      orders.slice(from, from + SLICE).map(({ body, messageId }) =>
        client.publish({
          routingKey: broker.ordersQueue,
          body: Buffer.from(body),
          properties: { messageId },
        }),
      ),
    );
    await pause;
  }
}

function missing(stage: Stage, orders: readonly DemoOrder[], parked: ParkedSightings): DemoOrder[] {
  const seen = new Set<string | undefined>([
    ...stage.receipts.map(({ properties }) => properties.correlationId as string),
    ...parked.seen.flatMap(({ orderId, messageId }) => [orderId, messageId]),
  ]);
  return orders.filter(({ orderId, messageId }) => !seen.has(orderId ?? messageId));
}

async function leftOnQueues({ broker, client, environment }: Stage): Promise<number> {
  const { ordersQueue, prefix } = broker;
  const levelsMs = environment['CARDAUTH_RETRY_LEVELS_MS']?.split(',') ?? [];
  const levels = levelsMs.map((ms) => levelQueueOf(prefix, ordersQueue, Number(ms)));
  const queues = [ordersQueue, `${prefix}.parked`, ...levels];
  const counts = await Promise.all(queues.map((queue) => client.counts(queue)));
  return counts.reduce((sum, queue) => sum + (queue?.ready ?? 0), 0);
}

async function evidenceOf(
  stage: Stage,
  orders: readonly DemoOrder[],
  parked: ParkedSightings,
): Promise<Evidence> {
  const rows = await orderRows(stage);
  return {
    published: orders,
    approvals: await stage.gateway.approvals(),
    orders: rows.map((row) => ({
      orderId: row.order_id,
      status: row.status,
      amountMinor: BigInt(row.amount_minor),
      currency: row.currency,
      gatewayReference: row.gateway_reference ?? undefined,
      notified: row.notified_at !== null,
    })),
    receipts: stage.receipts.map(({ properties, body }) => {
      const { orderId, status } = JSON.parse(body.toString()) as { orderId: string; status: string };
      return { orderId, status, eventId: properties.messageId as string };
    }),
    parked: parked.seen,
    leftOnQueues: await leftOnQueues(stage),
  };
}

/** The gateway is asked to charge these at least once, whatever befalls the workers. */
function chargedOrderIds(orders: readonly DemoOrder[]): string[] {
  return orders.flatMap(({ kind, orderId }) =>
    kind === 'good' || kind === 'declined' ? (orderId ?? []) : [],
  );
}

/** @param dealt So many rules stand first and hold every kind of fault. */
async function everyFaultWasMet(stage: Stage, dealt: number): Promise<void> {
  const unmet = (await stage.gateway.faults()).slice(0, dealt).filter(({ hits }) => hits === 0);
  assert.deepEqual(unmet, [], 'faults that never happened');
}

/** Faults that hit requests leave no mark on an order; only those that bend the gateway's verdict may. */
async function everyOrderIsWhatItsFaultsAllow(
  stage: Stage,
  orders: readonly DemoOrder[],
  seed: number,
): Promise<void> {
  const requests = await stage.gateway.requests();
  const statuses = new Map((await orderRows(stage)).map((row) => [row.order_id, row.status]));
  const wrong: string[] = [];
  for (const { orderId, expected } of orders) {
    if (orderId === undefined || expected === 'parked') continue;
    const ofOrder = requests.filter((request) => request.orderId === orderId);
    const faults = ofOrder.flatMap(({ fault }) => fault ?? []);
    // Questions have no key, and a void has one of its own.
    const keys = new Set(
      ofOrder.flatMap(({ idempotencyKey }) => idempotencyKey?.replace(/-void$/, '') ?? []),
    );
    if ([...keys].some((key) => key !== `order-${orderId}-1`))
      wrong.push(`${orderId}: keys ${[...keys].join(', ')}`);
    const status = statuses.get(orderId);
    const isAllowed =
      status === expected ||
      (faults.some(isBent) && (status !== 'denied' || faults.some(mayDecline)) && status !== 'received');
    if (!isAllowed)
      wrong.push(`${orderId}: ${status ?? 'nowhere'} instead of ${expected} after ${faults.join(', ')}`);
  }
  assert.deepEqual(wrong, [], `seed ${seed}`);
}

function shuffled<T>(items: readonly T[], random: RandomSource): T[] {
  const left = [...items];
  return items.flatMap(() => left.splice(nextBelow(random, left.length), 1));
}

async function orderRows(stage: Stage): Promise<OrderRow[]> {
  return (await stage.database.query<OrderRow>('select * from cardauth.orders')).rows;
}
