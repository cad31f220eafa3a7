import { chmodSync, mkdtempSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { canInstall, install } from './services/apt.mjs';
import { dockerIsRunning, startContainers } from './services/docker.mjs';
import { findPostgres, findRabbitmq } from './services/find-binaries.mjs';
import { freePorts } from './services/free-ports.mjs';
import { startKeeper } from './services/keeper.mjs';
import { planServices, ServicesUnavailable } from './services/plan.mjs';
import { startPostgres } from './services/postgres.mjs';
import { startRabbitmq } from './services/rabbitmq.mjs';

const machine = { findRabbitmq, findPostgres, dockerIsRunning, canInstall };

/**
 * Finds or starts RabbitMQ and PostgreSQL, each on its own; plan.mjs says from where.
 *
 * Returns `amqpUrl`, `databaseUrl`, `origin` (`{ rabbitmq, postgres }`: where each came from), `rabbitmqctl`
 * (`{ command, env }`, only for a private RabbitMQ) and `stop()`, which ends what was started and nothing
 * else. What was started also ends when this process does, however that happens.
 * Throws `ServicesUnavailable` when there is nothing to start from.
 */
export async function startServices({ log, env = process.env, fsync = true }) {
  const plan = await planServices({ env, machine });
  const names = Object.keys(plan);
  const from = (origin) => names.filter((name) => plan[name].from === origin);

  const origin = Object.fromEntries(names.map((name) => [name, plan[name].from]));
  if (from('apt').length > 0) installInto(plan, from('apt'), log);
  if (from('environment').length === names.length) {
    return {
      amqpUrl: plan.rabbitmq.url,
      databaseUrl: plan.postgres.url,
      origin,
      stop: async () => undefined,
    };
  }

  const keeper = startKeeper();
  try {
    const directory = makeDirectory(keeper);
    const containers =
      from('docker').length > 0 &&
      startContainers({
        keeper,
        names: from('docker'),
        project: basename(directory).toLowerCase(),
        log,
      });
    const start = {
      environment: ({ url }) => ({ url }),
      docker: async (_, name) => (await containers)[name],
      binaries: ({ binaries }, name) => startPrivate[name]({ keeper, binaries, directory, fsync, log }),
    };
    const [rabbitmq, postgres] = await Promise.all(
      names.map((name) => start[plan[name].from](plan[name], name)),
    );
    return {
      amqpUrl: rabbitmq.url,
      databaseUrl: postgres.url,
      rabbitmqctl: rabbitmq.rabbitmqctl,
      origin,
      stop: keeper.stop,
    };
  } catch (error) {
    await keeper.stop();
    throw error;
  }
}

const startPrivate = {
  rabbitmq: ({ log, binaries, ...rest }) =>
    timed(log, `RabbitMQ: a private instance of ${binaries.server}`, async () =>
      startRabbitmq({ ...rest, binaries, ports: await freePorts(3) }),
    ),
  postgres: ({ log, binaries, ...rest }) =>
    timed(log, `PostgreSQL: a private instance of ${binaries}/postgres`, async () =>
      startPostgres({ ...rest, binaries, port: (await freePorts(1))[0] }),
    ),
};

function installInto(plan, names, log) {
  install(names, log);
  const find = { rabbitmq: findRabbitmq, postgres: findPostgres };
  for (const name of names) {
    const binaries = find[name]();
    if (binaries === undefined)
      throw new ServicesUnavailable(`apt-get installed ${name}, but its programs were not found`);
    plan[name] = { from: 'binaries', binaries };
  }
}

/** A directory of our own that other users, such as PostgreSQL's, can pass through but not list. */
export function makeDirectory(keeper) {
  const directory = mkdtempSync(join(passableTmpdir(), 'cardauth-'));
  keeper.removeAtEnd(directory);
  chmodSync(directory, 0o711);
  return directory;
}

/** TMPDIR, unless we are root and PostgreSQL's user could not get there. */
function passableTmpdir() {
  if (process.getuid?.() !== 0) return tmpdir();
  for (let folder = tmpdir(); folder !== dirname(folder); folder = dirname(folder)) {
    if ((statSync(folder).mode & 0o001) === 0) return '/tmp';
  }
  return tmpdir();
}

async function timed(log, what, start) {
  const startedAt = Date.now();
  const result = await start();
  log(`${what}, ready in ${((Date.now() - startedAt) / 1000).toFixed(1)} s`);
  return result;
}
