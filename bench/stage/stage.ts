import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { migrateUp } from '../../src/adapters/postgres/migrate.ts';
import { freePorts, startKeeper, type Keeper, type Kept } from '../../test/support/private-services.ts';
import { silent } from '../../test/support/silent-log.ts';
import { gatewayAt, type Gateway } from '../gateway/gateway.ts';
import type { GatewayTask } from '../gateway/gateway-process.ts';
import { ORDER_TABLE } from '../contestants/order-table.ts';
import { openBroker, type Broker } from './broker.ts';
import { databasesOn, query, type Databases } from './databases.ts';

/** All that contestants run on: the same broker, database server and gateway process for each. */
export interface Stage {
  readonly broker: Broker;
  readonly databases: Databases;
  readonly gateway: Gateway;
  /** Databases to copy: nobody's rounds start with the making of tables. */
  readonly templates: { readonly cardauth: string; readonly orderTable: string };
  /** For logs. */
  readonly folder: string;
  /** Starts a Node program; its output goes to a log file of its own. */
  spawn(
    name: string,
    args: readonly string[],
    env?: Readonly<Record<string, string>>,
  ): Promise<Kept & { readonly logFile: string }>;
  strike(): Promise<void>;
}

export interface StageOptions {
  readonly amqpUrl: string;
  readonly databaseUrl: string;
  /** For logs, and profiles. */
  readonly folder: string;
  /** What each flush of the database's log takes longer. */
  readonly flushMs: number;
  /** Processes of this name leave CPU profiles behind. */
  readonly profiled: string | undefined;
}

export async function setUpStage(options: StageOptions): Promise<Stage> {
  const { amqpUrl, databaseUrl, flushMs, folder, profiled } = options;
  const keeper = startKeeper();
  let spawned = 0;
  const spawn: Stage['spawn'] = async (name, args, env = {}) => {
    const logFile = join(folder, `${String((spawned += 1)).padStart(3, '0')}-${name}.log`);
    const profiling = name === profiled ? ['--cpu-prof', `--cpu-prof-dir=${folder}`] : [];
    const child = await spawnNode(keeper, { args: [...profiling, ...args], env, folder, logFile });
    return { ...child, logFile };
  };
  const broker = await openBroker(amqpUrl, `cardauth-bench-${randomBytes(4).toString('hex')}`);
  const databases = databasesOn(databaseUrl, flushMs);
  return {
    broker,
    databases,
    gateway: await startGateway(spawn),
    templates: await makeTemplates(databases),
    folder,
    spawn,
    async strike() {
      await keeper.stop();
      await databases.dropAll();
      await broker.close();
    },
  };
}

function spawnNode(
  keeper: Keeper,
  options: {
    readonly args: readonly string[];
    readonly env: Readonly<Record<string, string>>;
    readonly folder: string;
    readonly logFile: string;
  },
): Promise<Kept> {
  const { args, env, folder, logFile } = options;
  return keeper.spawn({
    command: process.execPath,
    args,
    env: { ...ambientEnvironment(), ...env },
    cwd: folder,
    logFile,
    stopSignals: ['SIGKILL'],
  });
}

/** A worker refuses names that it does not know, and is to take no setting of ours for its own. */
function ambientEnvironment(): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('CARDAUTH_')));
}

async function startGateway(spawn: Stage['spawn']): Promise<Gateway> {
  const [chargesPort = 0, controlPort = 0] = await freePorts(2);
  const program = fileURLToPath(new URL('../gateway/gateway-process.js', import.meta.url));
  const task: GatewayTask = { chargesPort, controlPort };
  const gateway = gatewayAt(
    chargesPort,
    controlPort,
    await spawn('gateway', [program, JSON.stringify(task)]),
  );
  const deadlineMs = performance.now() + 20_000;
  for (;;) {
    try {
      await gateway.begin(0);
      return gateway;
    } catch (error) {
      if (performance.now() > deadlineMs) throw error;
      await sleep(20);
    }
  }
}

async function makeTemplates(databases: Databases): Promise<Stage['templates']> {
  const [cardauth, orderTable] = [await databases.create(), await databases.create()];
  await migrateUp({ url: cardauth, log: silent });
  await query(orderTable, ORDER_TABLE);
  return { cardauth, orderTable };
}
