/**
 * The topology of parked orders: what lies in the parking lot is recorded in PostgreSQL, where operators see it. It
 * runs in every worker, beside the one that authorizes, and never holds that one's intake: an order that is parked has
 * all the time in the world.
 *
 *     <prefix>.parked -> OrdersSpout -> RecordParkedOrder -> parked_orders
 *                                             `-> <prefix>.parked.unsealed   orders in clear, without a card key
 *
 * - A message is acked after its row is committed. What cannot be recorded now waits in this process, with backoff, and
 *   after ten minutes at the end of the queue: every requeue would count as a delivery. While the database is away
 *   nothing is consumed.
 * - It has a connection of its own: consuming ends by closing it, and trouble on one queue must not take the deliveries
 *   of the other away.
 */
import { openParkedOrderRecords } from './adapters/postgres/parked-orders.ts';
import { BrokerConnection } from './adapters/rabbitmq/connection.ts';
import { declareParkedQueue, declareUnsealedQueue, parkedQueueOf } from './adapters/rabbitmq/declare.ts';
import type { Endpoint } from './adapters/rabbitmq/endpoint.ts';
import { OrdersSpout } from './adapters/rabbitmq/orders-spout.ts';
import { ParkedCopies } from './adapters/rabbitmq/parked-copies.ts';
import { readParkedMessage } from './adapters/rabbitmq/parked-messages.ts';
import type { Publisher } from './adapters/rabbitmq/publisher.ts';
import { redactedBody } from './adapters/rabbitmq/redaction.ts';
import {
  RecordParkedOrder,
  type ParkedMessageValues,
  type RecordParkedOrderParts,
} from './bolts/record-parked-order.ts';
import { holdIntakeWhileUnavailable } from './intake.ts';
import type { Availability } from './ports/availability.ts';
import type { CardCipher } from './ports/card-cipher.ts';
import type { Log } from './ports/log.ts';
import type { ParkingLot } from './ports/parking-lot.ts';
import type { BasicBolt } from './topology/bolt.ts';
import { TopologyBuilder } from './topology/builder.ts';
import type { Clock } from './topology/clock.ts';
import { shuffle } from './topology/groupings.ts';
import type { RandomSource } from './topology/random.ts';
import { TopologyRunner } from './topology/runner.ts';

export interface ParkedTopologyParts extends Pick<
  RecordParkedOrderParts,
  'admit' | 'book' | 'copyBody' | 'open'
> {
  readonly endpoints: readonly Endpoint[];
  readonly prefix: string;
  readonly databaseUrl: string;
  readonly cipher: CardCipher | undefined;
  /** Of retry and parked copies. */
  readonly publisher: Publisher;
  readonly parkingLot: ParkingLot;
  readonly databaseAvailability: Availability;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly log: Log;
}

/** Their bodies may have many megabytes each. */
const MOST_AT_ONCE = 8;
const CLOSE_TIMEOUT_MS = 12_000;
/** Longer than any backoff: what waits, waits in process. */
const HOLD_UP_TO_MS = 60_000;

export interface ParkedTopology {
  start(): Promise<void>;
  /** Stops recording; what is not recorded is given back. A second call skips the waiting. */
  drain(deadlineMs: number): Promise<void>;
  /** After `drain`. */
  close(): Promise<void>;
}

export function buildParkedTopology(parts: ParkedTopologyParts): ParkedTopology {
  const { cipher, clock, databaseUrl, log, parkingLot, prefix, publisher, random } = parts;
  const means = { clock, random, log };
  const queue = parkedQueueOf(prefix);
  const copies = new ParkedCopies({ publisher, prefix, clock });
  const records = openParkedOrderRecords({ databaseUrl, log });

  const spout = new OrdersSpout<ParkedMessageValues>({
    ...means,
    connection: new BrokerConnection({ ...means, role: 'record', endpoints: parts.endpoints }),
    queue,
    prepare: async (link) => {
      await declareParkedQueue({ ...means, link }, prefix);
      if (cipher === undefined) await declareUnsealedQueue({ ...means, link }, prefix);
    },
    scheme: (_message, raw) => {
      const parked = readParkedMessage(raw, clock.wallMs());
      return { messageId: parked.parkId, values: { parked } };
    },
    parkingLot,
    retryCopies: copies,
    replayRules: { otherwise: { baseMs: 500, capMs: 10_000, maxReplays: Infinity } },
    maxSpoutPending: MOST_AT_ONCE,
    mostHeld: MOST_AT_ONCE,
    holdUpToMs: HOLD_UP_TO_MS,
  });
  const record = new RecordParkedOrder({
    ...parts,
    records,
    unsealed: copies,
    seal: cipher === undefined ? undefined : (body) => cipher.seal(body),
    redact: redactedBody,
  });
  const topology = new TopologyBuilder()
    .spout('parked', {
      spout,
      streams: { orders: ['parked'], exhausted: ['parked', 'exhaustedBecause'] },
      // Nothing here is ever given up.
      unconsumed: ['exhausted'],
      maxSpoutPending: MOST_AT_ONCE,
    })
    .bolt('record-parked-order', {
      create: (): BasicBolt<ParkedMessageValues> => record,
      inputs: [{ from: 'parked', stream: 'orders', grouping: shuffle }],
      concurrency: MOST_AT_ONCE,
    })
    .build();
  const runner = new TopologyRunner(topology, {
    ...means,
    closeTimeoutMs: CLOSE_TIMEOUT_MS,
    onProblem: ({ component, during, error }) => {
      log.error({ component, phase: during, err: error }, 'a part of the parked topology broke its contract');
    },
  });
  let stopHolding = (): void => undefined;

  return {
    async start() {
      const dependencies = [parts.databaseAvailability, publisher.availability];
      stopHolding = holdIntakeWhileUnavailable(runner, dependencies, unsaid(log));
      await runner.start();
    },
    async drain(deadlineMs) {
      stopHolding();
      await runner.drain(deadlineMs);
    },
    close: () => records.close(),
  };
}

/** The same is said of the orders' intake, where it matters more. */
function unsaid(log: Log): Log {
  return { ...log, info: () => undefined, warn: () => undefined };
}
