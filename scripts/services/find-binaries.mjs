import { accessSync, constants, existsSync, readdirSync, realpathSync } from 'node:fs';
import { basename, delimiter, dirname, join } from 'node:path';

/** Folder with `initdb` and `postgres` (newest version first), or undefined. */
export function findPostgres(env = process.env) {
  const versioned = [
    ...versionFolders('/usr/lib/postgresql', /^(\d+)$/),
    ...versionFolders('/usr', /^pgsql-(\d+)$/),
  ];
  const folders = [...versioned.map((folder) => join(folder, 'bin')), ...pathFolders(env)];
  const folder = folders.find(
    (one) => isExecutable(join(one, 'initdb')) && isExecutable(join(one, 'postgres')),
  );
  return folder && dirname(realpathSync(join(folder, 'postgres')));
}

/** `{ server, ctl, epmd }`: paths of `rabbitmq-server`, `rabbitmqctl` and `epmd`; or undefined. */
export function findRabbitmq(env = process.env) {
  const places = ['/usr/lib/rabbitmq/bin', ...pathFolders(env), '/opt/homebrew/sbin', '/usr/local/sbin'];
  const server = places.map((place) => join(place, 'rabbitmq-server')).find(isOriginal);
  const erl = pathFolders(env)
    .map((folder) => join(folder, 'erl'))
    .find(isExecutable);
  if (server === undefined || erl === undefined) return undefined;

  const epmd = [dirname(erl), dirname(realpathSync(erl))]
    .map((folder) => join(folder, 'epmd'))
    .find(isExecutable);
  const ctl = join(dirname(server), 'rabbitmqctl');
  return epmd === undefined || !isExecutable(ctl) ? undefined : { server, ctl, epmd };
}

/** Path of a command on PATH, or undefined. */
export function findCommand(name, env = process.env) {
  return pathFolders(env)
    .map((folder) => join(folder, name))
    .find(isExecutable);
}

/** Packages put a wrapper on PATH that changes to the user and directories of the machine's own broker. */
function isOriginal(server) {
  return isExecutable(server) && basename(realpathSync(server)) !== 'rabbitmq-script-wrapper';
}

function versionFolders(parent, pattern) {
  if (!existsSync(parent)) return [];
  const version = (name) => Number(pattern.exec(name)?.[1]);
  return readdirSync(parent)
    .filter((name) => pattern.test(name))
    .sort((a, b) => version(b) - version(a))
    .map((name) => join(parent, name));
}

function pathFolders(env) {
  return (env.PATH ?? '').split(delimiter).filter(Boolean);
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
