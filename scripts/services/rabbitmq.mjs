import { mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { speaksAmqp, waitUntilReady } from './ready.mjs';

const startTimeoutMs = 90_000;
const loopbackOnly = '-kernel inet_dist_use_interface {127,0,0,1}';

/**
 * A RabbitMQ node of our own below `directory`, with its own name, ports, cookie and epmd, none of the
 * machine's configuration, and listeners on 127.0.0.1 only. Returns its `url` (guest/guest, vhost `/`) and
 * `rabbitmqctl`: the `command` and `env` that administer it. `plugins` are enabled by name, `config` are more lines
 * of rabbitmq.conf.
 */
export async function startRabbitmq({ keeper, binaries, directory, ports, plugins = [], config = [] }) {
  const [amqpPort, distributionPort, epmdPort] = ports;
  const home = join(directory, 'rabbitmq');
  const nodeName = `${basename(directory)}@localhost`;
  const env = nodeEnvironment({
    home,
    nodeName,
    amqpPort,
    distributionPort,
    epmdPort,
    plugins,
    settings: config,
  });
  await startEpmd({ keeper, binaries, directory, epmdPort });
  await startNode({ keeper, binaries, env, logFile: join(directory, 'rabbitmq.log') });
  return { url: `amqp://guest:guest@127.0.0.1:${amqpPort}`, rabbitmqctl: { command: binaries.ctl, env } };
}

/** Our own epmd in the foreground: one that Erlang starts for itself becomes a daemon that nobody ends. */
export function startEpmd({ keeper, binaries, directory, epmdPort }) {
  return keeper.spawn({
    env: { PATH: process.env.PATH, HOME: directory },
    cwd: directory,
    stopSignals: ['SIGKILL'],
    command: binaries.epmd,
    args: ['-port', String(epmdPort), '-address', '127.0.0.1'],
    logFile: join(directory, 'epmd.log'),
  });
}

/** Starts a node, also one that was there before; resolves to its process when it takes connections. */
export async function startNode({ keeper, binaries, env, logFile }) {
  // Nothing in this node outlives it, so nothing is gained by letting it say goodbye.
  const common = { env, cwd: env.HOME, stopSignals: ['SIGKILL'] };
  const server = await keeper.spawn({ ...common, command: binaries.server, args: [], logFile });
  await waitUntilReady({
    name: `RabbitMQ ${env.RABBITMQ_NODENAME}`,
    probe: () => speaksAmqp(Number(env.RABBITMQ_NODE_PORT)),
    timeoutMs: startTimeoutMs,
    exited: server.exited,
    logFile,
  });
  return server;
}

/**
 * Writes a node's files below `home` and returns the environment that makes it, and rabbitmqctl, use nothing else.
 * `settings` are more lines of its rabbitmq.conf.
 */
export function nodeEnvironment({
  home,
  nodeName,
  amqpPort,
  distributionPort,
  epmdPort,
  plugins = [],
  settings = [],
}) {
  mkdirSync(join(home, 'conf.d'), { recursive: true });
  const write = (name, content) => {
    const path = join(home, name);
    writeFileSync(path, content);
    return path;
  };
  return {
    PATH: process.env.PATH,
    HOME: home,
    // Else it may end up in the working directory, and it holds the memory of the program that crashed.
    ERL_CRASH_DUMP: join(home, 'erl_crash.dump'),
    LANG: 'C.UTF-8',
    RABBITMQ_NODENAME: nodeName,
    RABBITMQ_NODE_PORT: String(amqpPort),
    RABBITMQ_DIST_PORT: String(distributionPort),
    ERL_EPMD_PORT: String(epmdPort),
    ERL_EPMD_ADDRESS: '127.0.0.1',
    RABBITMQ_MNESIA_BASE: join(home, 'data'),
    RABBITMQ_LOG_BASE: join(home, 'log'),
    RABBITMQ_LOGS: '-',
    RABBITMQ_ENABLED_PLUGINS_FILE: write('enabled_plugins', `[${plugins.join(',')}].\n`),
    RABBITMQ_CONF_ENV_FILE: write('rabbitmq-env.conf', ''),
    RABBITMQ_CONFIG_FILE: write(
      'rabbitmq.conf',
      [`listeners.tcp.1 = 127.0.0.1:${amqpPort}`, ...settings, ''].join('\n'),
    ),
    RABBITMQ_CONFIG_FILES: join(home, 'conf.d'),
    RABBITMQ_ADVANCED_CONFIG_FILE: write('advanced.config', '[].\n'),
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: loopbackOnly,
    RABBITMQ_CTL_ERL_ARGS: loopbackOnly,
    // A rabbitmqctl that comes when our epmd is gone already must not start one that nobody ends.
    ERL_FLAGS: '-start_epmd false',
    // The script then becomes the node instead of waiting for it as its child.
    RUNNING_UNDER_SYSTEMD: 'true',
  };
}
