import { chownSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeExit, logTail, speaksPostgres, waitUntilReady } from './ready.mjs';

const startTimeoutMs = 60_000;

/**
 * A PostgreSQL cluster of our own below `directory`: role and database `postgres`, no password, reachable on
 * 127.0.0.1 only (no Unix socket: its path may be too long for the kernel below a long TMPDIR).
 * `fsync: false` trades durability in a power cut for speed.
 */
export async function startPostgres(options) {
  const { url, start } = await preparePostgres(options);
  await start();
  return { url };
}

/** The same, not started yet: `start` starts its server, also again, and resolves to the process once it answers. */
export async function preparePostgres({ keeper, binaries, directory, port, fsync }) {
  const home = join(directory, 'postgres');
  const data = join(home, 'data');
  const user = unprivilegedUser();
  mkdirSync(home, { mode: 0o700 });
  if (user.uid !== undefined) chownSync(home, user.uid, user.gid);

  const env = { PATH: process.env.PATH, HOME: home, LC_ALL: 'C' };
  const common = { ...user, env, cwd: home, stopSignals: ['SIGQUIT', 'SIGKILL'] };

  const initLog = join(directory, 'initdb.log');
  const initdb = await keeper.spawn({
    ...common,
    command: join(binaries, 'initdb'),
    args: ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'],
    logFile: initLog,
  });
  const exit = await initdb.exited;
  if (exit.code !== 0) throw new Error(`initdb failed (${describeExit(exit)}).${logTail(initLog)}`);

  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: 200,
    fsync: fsync ? 'on' : 'off',
  };
  const logFile = join(directory, 'postgres.log');
  const start = async () => {
    const server = await keeper.spawn({
      ...common,
      command: join(binaries, 'postgres'),
      args: ['-D', data, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
      logFile,
    });
    await waitUntilReady({
      name: 'PostgreSQL',
      probe: () => speaksPostgres(port),
      timeoutMs: startTimeoutMs,
      exited: server.exited,
      logFile,
    });
    return server;
  };
  return { url: `postgres://postgres@127.0.0.1:${port}/postgres`, start };
}

/** PostgreSQL refuses to run as root; `{}` means "as ourselves". */
function unprivilegedUser() {
  if (process.getuid?.() !== 0) return {};
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  const user = ['postgres', 'nobody'].map((name) => users.find((fields) => fields[0] === name)).find(Boolean);
  if (user === undefined) {
    throw new Error(
      'PostgreSQL cannot run as root, and there is no user "postgres" or "nobody" to run it as. ' +
        'Run this command as an ordinary user, or give DATABASE_URL.',
    );
  }
  return { uid: Number(user[2]), gid: Number(user[3]) };
}
