import { execFile } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { waitFor } from './wait-for.ts';

/** A broker that a test may do anything to: nobody else uses it. */
export interface OwnBroker {
  readonly url: string;
  /** Runs rabbitmqctl (about a second each) and returns what it printed. */
  rabbitmqctl(...args: string[]): Promise<string>;
  /** Kills the node's process at once; what it has confirmed is on its disk. */
  kill(): Promise<void>;
  /** Starts it again after `kill`, on the same ports, and resolves when it takes connections. */
  startAgain(): Promise<void>;
}

/** The node ends with its owner, and also when this process dies. */
export async function startOwnBroker(owner: {
  after(cleanup: () => Promise<void>): void;
}): Promise<OwnBroker> {
  const binaries = findRabbitmq();
  if (binaries === undefined) throw new Error('RabbitMQ is not installed: see canStartOwnBroker');
  const keeper = startKeeper();
  owner.after(() => keeper.stop());
  const directory = mkdtempSync(join(tmpdir(), 'cardauth-own-'));
  keeper.removeAtEnd(directory);

  let node: { readonly request: SpawnRequest; readonly process: KeptProcess } | undefined;
  const spawn = async (request: SpawnRequest): Promise<KeptProcess> => {
    const process = await keeper.spawn(request);
    if (request.command === binaries.server) node = { request, process };
    return process;
  };
  const ports = await freePorts(3);
  const started = await startRabbitmq({ keeper: { spawn }, binaries, directory, ports });

  return {
    url: started.url,
    async rabbitmqctl(...args) {
      const { command, env } = started.rabbitmqctl;
      const { stdout } = await promisify(execFile)(command, ['--quiet', ...args], { env, timeout: 60_000 });
      return stdout;
    },
    async kill() {
      if (node === undefined) throw new Error('the broker was never started');
      process.kill(node.process.pid, 'SIGKILL');
      await node.process.exited;
    },
    async startAgain() {
      if (node === undefined) throw new Error('the broker was never started');
      await spawn(node.request);
      await waitFor('the broker to take connections again', () => speaksAmqp(ports[0] ?? 0), {
        timeoutMs: 60_000,
      });
    },
  };
}

interface SpawnRequest {
  readonly command: string;
}

interface KeptProcess {
  readonly pid: number;
  readonly exited: Promise<unknown>;
}

interface Keeper {
  spawn(request: SpawnRequest): Promise<KeptProcess>;
  removeAtEnd(path: string): void;
  stop(): Promise<void>;
}

const { startKeeper } = (await load('keeper.mjs')) as { startKeeper: () => Keeper };
const { findRabbitmq } = (await load('find-binaries.mjs')) as {
  findRabbitmq: () => { readonly server: string } | undefined;
};
const { freePorts } = (await load('free-ports.mjs')) as { freePorts: (count: number) => Promise<number[]> };
const { speaksAmqp } = (await load('ready.mjs')) as { speaksAmqp: (port: number) => Promise<boolean> };
const { startRabbitmq } = (await load('rabbitmq.mjs')) as {
  startRabbitmq: (options: {
    readonly keeper: Pick<Keeper, 'spawn'>;
    readonly binaries: { readonly server: string };
    readonly directory: string;
    readonly ports: readonly number[];
  }) => Promise<{
    readonly url: string;
    readonly rabbitmqctl: { readonly command: string; readonly env: Record<string, string> };
  }>;
};

export const canStartOwnBroker = findRabbitmq() !== undefined;

/** The scripts run before anything is built, and are therefore no TypeScript. */
function load(name: string): Promise<unknown> {
  return import(new URL(`../../../scripts/services/${name}`, import.meta.url).href);
}
