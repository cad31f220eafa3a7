import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { ClusterNode } from './cluster-node.ts';
import {
  findRabbitmq,
  freePorts,
  nodeEnvironment,
  startEpmd,
  type Keeper,
  type NodeEnvironment,
} from './private-services.ts';
import { waitFor } from './wait-for.ts';

const SIZE = 3;
/** A minority stops serving instead of going its own way: what RabbitMQ's documentation recommends for three nodes. */
const COMMON_SETTINGS = ['cluster_partition_handling = pause_minority'];
/**
 * How long a node may be silent before its peers give it up, seconds. By default it is a minute, during which a node that
 * is frozen holds up all that changes metadata anywhere in the cluster (binding a queue, for example).
 */
const NET_TICK_SECONDS = 8;
const ALL_BACK_TIMEOUT_MS = 60_000;

/** Of a quorum queue; `members` and `online` are lists of node names as Erlang prints them. */
interface QueueFacts {
  readonly name: string;
  readonly messages: number;
  readonly ready: number;
  readonly consumers: number;
  readonly leader: string;
  readonly members: string;
  readonly online: string;
}

const COLUMNS = ['name', 'messages', 'messages_ready', 'consumers', 'leader', 'members', 'online'];

/** Three RabbitMQ nodes on this machine that form a cluster of their own. */
export class BrokerCluster {
  readonly nodes: readonly ClusterNode[];
  /** All nodes, as AMQP_URL takes them. */
  readonly urls: string;

  constructor(nodes: readonly ClusterNode[]) {
    this.nodes = nodes;
    this.urls = nodes.map(({ url }) => url).join(',');
  }

  /** Starts what is down; for the next test, after one that ended early. */
  async restore(): Promise<void> {
    for (const node of this.nodes) if (!node.isUp) await node.start();
  }

  othersThan(node: ClusterNode): ClusterNode[] {
    return this.nodes.filter((other) => other !== node);
  }

  /** The node that the one consumer of a queue is connected to. */
  async consumedFrom(queue: string): Promise<ClusterNode> {
    const table = await this.#anyNode().rabbitmqctl(
      'list_consumers',
      '--no-table-headers',
      'queue_name',
      'channel_pid',
    );
    const pids = table.split('\n').filter((line) => line.startsWith(`${queue}\t`));
    return this.#only(
      ({ name }) => pids.some((line) => line.includes(name)),
      `that ${queue} is consumed from`,
    );
  }

  /** All queues; `messages` are those that are ready and those that a consumer has not settled. */
  async queues(): Promise<readonly QueueFacts[]> {
    const table = await this.#anyNode().rabbitmqctl('list_queues', '--no-table-headers', ...COLUMNS);
    const lines = table.split('\n').filter((line) => line !== '');
    return lines.map((line) => {
      const [name = '', messages, ready, consumers, leader = '', members = '', online = ''] =
        line.split('\t');
      const counts = { messages: Number(messages), ready: Number(ready), consumers: Number(consumers) };
      return { name, ...counts, leader, members, online };
    });
  }

  /** Messages that consumers have and did not settle, by what their channels know. */
  async unsettledByChannels(): Promise<number> {
    const table = await this.#anyNode().rabbitmqctl(
      'list_channels',
      '--no-table-headers',
      'messages_unacknowledged',
    );
    return table.split('\n').reduce((sum, line) => sum + Number(line), 0);
  }

  async messagesIn(queue: string): Promise<number> {
    return (await this.#facts(queue)).messages;
  }

  /** The node that leads a quorum queue; waits for an election to end. */
  async leaderOf(queue: string): Promise<ClusterNode> {
    return waitFor(`queue ${queue} to have a leader that is up`, async () => {
      const { leader } = await this.#facts(queue);
      const node = this.#only(({ name }) => name === leader, leader);
      return node.isUp ? node : undefined;
    });
  }

  /** Nodes that hold a copy of a quorum queue. */
  async membersOf(queue: string): Promise<readonly ClusterNode[]> {
    const { members } = await this.#facts(queue);
    return this.nodes.filter(({ name }) => members.includes(name));
  }

  /** Waits until every node is up and has its copy of a quorum queue in use. */
  async allBack(queue: string): Promise<void> {
    await waitFor(
      `queue ${queue} to be complete on all nodes`,
      async () => {
        const { online } = await this.#facts(queue);
        return this.nodes.every(({ name }) => online.includes(name));
      },
      { timeoutMs: ALL_BACK_TIMEOUT_MS },
    );
  }

  async #facts(queue: string): Promise<QueueFacts> {
    const facts = (await this.queues()).find(({ name }) => name === queue);
    if (facts === undefined) throw new Error(`there is no queue ${queue}`);
    return facts;
  }

  #anyNode(): ClusterNode {
    return this.#only(({ isUp }) => isUp, 'that is up');
  }

  #only(wanted: (node: ClusterNode) => boolean, what: string): ClusterNode {
    const node = this.nodes.find(wanted);
    if (node === undefined) throw new Error(`no node ${what}`);
    return node;
  }
}

/**
 * Starts the nodes below `directory` (about 14 s on two cores); the keeper ends them. The first one founds the cluster,
 * the others find it by their configuration: all at once they wait for each other's locks, which takes longer.
 */
export async function startCluster(keeper: Keeper, directory: string): Promise<BrokerCluster> {
  const binaries = findRabbitmq();
  if (binaries === undefined) throw new Error('a cluster needs rabbitmq-server to be installed');
  const [epmdPort = 0, ...ports] = await freePorts(1 + 2 * SIZE);
  await startEpmd({ keeper, binaries, directory, epmdPort });

  const cookie = randomBytes(10).toString('hex').toUpperCase();
  const nameOf = (index: number): string => `${basename(directory)}-${index + 1}@localhost`;
  const nodes = Array.from({ length: SIZE }, (_, index) => {
    const home = join(directory, `node-${index + 1}`);
    mkdirSync(home);
    writeFileSync(join(home, '.erlang.cookie'), cookie, { mode: 0o400 });
    const env = nodeEnvironment({
      home,
      nodeName: nameOf(index),
      amqpPort: ports[index] ?? 0,
      distributionPort: ports[SIZE + index] ?? 0,
      epmdPort,
      settings: index === 0 ? COMMON_SETTINGS : [...COMMON_SETTINGS, ...joining(nameOf(0))],
    });
    return new ClusterNode({
      keeper,
      binaries,
      env: { ...env, ...impatient(env) },
      cookie,
      logFile: join(directory, `node-${index + 1}.log`),
    });
  });

  const [first, ...others] = nodes;
  await first?.start();
  await Promise.all(others.map((node) => node.start()));
  const running = await first?.eval('length(rabbit_nodes:all_running()).');
  if (running?.trim() !== String(SIZE))
    throw new Error(`the cluster has ${String(running)} nodes, not ${SIZE}`);
  return new BrokerCluster(nodes);
}

function impatient({ RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: given = '' }: NodeEnvironment): NodeEnvironment {
  return { RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: `${given} -kernel net_ticktime ${NET_TICK_SECONDS}` };
}

function joining(founder: string): string[] {
  return [
    'cluster_formation.peer_discovery_backend = classic_config',
    `cluster_formation.classic_config.nodes.1 = ${founder}`,
  ];
}
