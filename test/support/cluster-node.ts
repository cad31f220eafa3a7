import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import {
  speaksAmqp,
  startNode,
  type Keeper,
  type Kept,
  type NodeEnvironment,
  type RabbitmqPrograms,
} from './private-services.ts';
import { waitFor } from './wait-for.ts';

const CTL_TIMEOUT_MS = 60_000;
const CHANGE_TIMEOUT_MS = 60_000;

interface NodeParts {
  readonly keeper: Keeper;
  readonly binaries: RabbitmqPrograms;
  readonly env: NodeEnvironment;
  readonly logFile: string;
  readonly cookie: string;
}

/** One node of a cluster, and what can befall it. */
export class ClusterNode {
  readonly name: string;
  readonly port: number;
  readonly url: string;
  readonly #parts: NodeParts;
  #server: Kept | undefined;

  constructor(parts: NodeParts) {
    this.#parts = parts;
    this.name = parts.env['RABBITMQ_NODENAME'] ?? '';
    this.port = Number(parts.env['RABBITMQ_NODE_PORT']);
    this.url = `amqp://guest:guest@127.0.0.1:${this.port}`;
  }

  get isUp(): boolean {
    return this.#server !== undefined;
  }

  /** Resolves when it takes connections, as a member of the cluster it belongs to. */
  async start(): Promise<void> {
    this.#server = await startNode(this.#parts);
  }

  /** kill -9. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** In good order, as a restart of the machine would. */
  async stop(): Promise<void> {
    await this.#end('SIGTERM');
  }

  /** It neither answers nor ends a connection until `thaw`. */
  freeze(): void {
    this.#signal('SIGSTOP');
  }

  thaw(): void {
    this.#signal('SIGCONT');
  }

  /**
   * Cuts it off from its peers, but not from its clients: under another cookie neither side accepts the other. Resolves
   * when it has paused, which a minority does under `pause_minority`: its clients are disconnected and refused.
   *
   * The peers stand still meanwhile, so that they lose it at once: when one has lost it and another has not yet, they
   * see a partial partition, and pause as well.
   */
  async isolate(peers: readonly ClusterNode[]): Promise<void> {
    for (const peer of peers) peer.freeze();
    try {
      await this.eval(
        `[begin erlang:set_cookie(N, no_longer), erlang:disconnect_node(N) end || N <- ${listOf(peers)}].`,
      );
    } finally {
      for (const peer of peers) peer.thaw();
    }
    await waitFor(`${this.name} to pause`, async () => !(await speaksAmqp(this.port)), {
      timeoutMs: CHANGE_TIMEOUT_MS,
    });
  }

  /** Ends `isolate`; resolves when it takes connections again. */
  async rejoin(peers: readonly ClusterNode[]): Promise<void> {
    await this.eval(`[erlang:set_cookie(N, '${this.#parts.cookie}') || N <- ${listOf(peers)}].`);
    await waitFor(`${this.name} to rejoin`, () => speaksAmqp(this.port), { timeoutMs: CHANGE_TIMEOUT_MS });
  }

  /** An Erlang expression, evaluated on this node; returns what it prints. Takes about half a second. */
  eval(expression: string): Promise<string> {
    return this.rabbitmqctl('eval', expression);
  }

  async rabbitmqctl(...args: string[]): Promise<string> {
    const { binaries, env } = this.#parts;
    const options = { env, timeout: CTL_TIMEOUT_MS };
    const { stdout } = await promisify(execFile)(binaries.ctl, ['--quiet', ...args], options);
    return stdout;
  }

  async #end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined) throw new Error(`${this.name} is not running`);
    process.kill(server.pid, signal);
    await server.exited;
  }

  #signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    if (this.#server !== undefined) process.kill(this.#server.pid, signal);
  }
}

function listOf(nodes: readonly ClusterNode[]): string {
  return `[${nodes.map(({ name }) => `'${name}'`).join(', ')}]`;
}
