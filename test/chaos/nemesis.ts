/**
 * Carries the plan out. Blows on the same target wait for each other, so that nothing is killed that is down already,
 * and never more than one broker node is away: the cluster would rightly stop. When it is done everything is up again.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { BrokerCluster } from '../support/cluster.ts';
import type { ClusterNode } from '../support/cluster-node.ts';
import { record } from './files.ts';
import type { Blow, BlowKind } from './blows.ts';
import type { Operators } from './operators.ts';
import type { TimedBlow } from './plan.ts';
import type { PrivateDatabase } from './private-database.ts';
import type { SupervisedWorker } from './supervised-worker.ts';

export interface Victims {
  readonly cluster: BrokerCluster;
  readonly ordersQueue: string;
  readonly database: PrivateDatabase;
  readonly workers: readonly SupervisedWorker[];
  readonly operators: Operators;
}

/** A line of blows.ndjson. */
export interface BlowEntry {
  readonly atMs: number;
  readonly kind: BlowKind;
  readonly tookMs: number;
  readonly worker?: number;
  /** How long it was to last, where that was planned. */
  readonly forMs?: number;
  /** Why it did not happen as planned. */
  readonly failed?: string;
}

export interface Nemesis {
  readonly done: number;
  /** Resolves when the last blow has fallen and everything is up. */
  readonly over: Promise<void>;
}

export function unleash(plan: readonly TimedBlow[], victims: Victims, folder: string): Nemesis {
  const startedAtMs = performance.now();
  const lanes = new Map<string, Promise<void>>();
  let done = 0;
  for (const { atMs, blow } of plan) {
    const lane = laneOf(blow);
    const previous = lanes.get(lane) ?? Promise.resolve();
    lanes.set(
      lane,
      previous.then(async () => {
        await sleep(Math.max(0, startedAtMs + atMs - performance.now()));
        record(folder, 'blows', await strike(blow, victims));
        done += 1;
      }),
    );
  }
  return {
    get done() {
      return done;
    },
    over: Promise.all(lanes.values()).then(() => undefined),
  };
}

function laneOf(blow: Blow): string {
  switch (blow.kind) {
    case 'database crashed':
      return 'database';
    case 'leader killed':
    case 'node killed':
    case 'node isolated':
    case 'memory alarm':
    case 'disk alarm':
      return 'broker';
    case 'broker cut':
    case 'database cut':
      return `ways of ${blow.worker}`;
    case 'worker killed':
    case 'worker ended':
    case 'worker frozen':
    case 'zombie':
      return `worker ${blow.worker}`;
    case 'replay killed':
    case 'lot replayed':
    case 'lot replayed by two':
      return 'parking lot';
    case 'unknowns resolved':
    case 'announcements resent':
      return 'unfinished orders';
    case 'intake paused':
      return 'intake';
  }
}

async function strike(blow: Blow, victims: Victims): Promise<BlowEntry> {
  const atMs = Date.now();
  const worker = 'worker' in blow ? { worker: blow.worker } : {};
  const forMs = 'forMs' in blow ? { forMs: blow.forMs } : {};
  const entry = { atMs, kind: blow.kind, ...worker, ...forMs };
  try {
    await carryOut(blow, victims);
    return { ...entry, tookMs: Date.now() - atMs };
  } catch (error) {
    const failed = error instanceof Error ? error.message.slice(0, 300) : 'something that is no error';
    return { ...entry, tookMs: Date.now() - atMs, failed };
  }
}

async function carryOut(blow: Blow, victims: Victims): Promise<void> {
  const { cluster, database, operators, ordersQueue, workers } = victims;
  switch (blow.kind) {
    case 'worker killed':
      await workers[blow.worker]?.kill();
      return;
    case 'worker ended':
      workers[blow.worker]?.send('SIGTERM');
      return;
    case 'worker frozen':
    case 'zombie':
      workers[blow.worker]?.send('SIGSTOP');
      await sleep(blow.forMs);
      workers[blow.worker]?.send('SIGCONT');
      return;
    case 'broker cut':
      workers[blow.worker]?.cut('broker');
      return;
    case 'database cut':
      workers[blow.worker]?.cut('database');
      return;
    case 'database crashed':
      await database.crash();
      await sleep(blow.downMs);
      await database.startAgain();
      return;
    case 'leader killed':
      await restart(await cluster.leaderOf(ordersQueue), blow.downMs);
      await cluster.allBack(ordersQueue);
      return;
    case 'node killed':
      await restart(nodeOf(cluster, blow.node), blow.downMs);
      await cluster.allBack(ordersQueue);
      return;
    case 'node isolated': {
      const node = nodeOf(cluster, blow.node);
      await node.isolate(cluster.othersThan(node));
      await sleep(blow.forMs);
      await node.rejoin(cluster.othersThan(node));
      await cluster.allBack(ordersQueue);
      return;
    }
    case 'memory alarm':
      await alarm(nodeOf(cluster, blow.node), blow.forMs, 'set_vm_memory_high_watermark', MEMORY_LIMITS);
      return;
    case 'disk alarm':
      await alarm(nodeOf(cluster, blow.node), blow.forMs, 'set_disk_free_limit', DISK_LIMITS);
      return;
    default:
      await operators.act(blow);
  }
}

/** What raises the alarm, and what ends it: publishers are blocked in between. */
type Limits = readonly [raises: readonly string[], ends: readonly string[]];
const MEMORY_LIMITS: Limits = [['absolute', '1MB'], ['0.4']];
const DISK_LIMITS: Limits = [['9000GB'], ['1MB']];

async function alarm(node: ClusterNode, forMs: number, command: string, limits: Limits): Promise<void> {
  const [raises, ends] = limits;
  await node.rabbitmqctl(command, ...raises);
  await sleep(forMs);
  await node.rabbitmqctl(command, ...ends);
}

async function restart(node: ClusterNode, downMs: number): Promise<void> {
  await node.kill();
  await sleep(downMs);
  await node.start();
}

function nodeOf(cluster: BrokerCluster, index: number): ClusterNode {
  const node = cluster.nodes[index];
  if (node === undefined) throw new RangeError(`there is no node ${index}`);
  return node;
}
