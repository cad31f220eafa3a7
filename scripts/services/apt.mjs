import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { findCommand } from './find-binaries.mjs';

const packages = { rabbitmq: 'rabbitmq-server', postgres: 'postgresql' };

/** True on Debian and Ubuntu, as root. */
export function canInstall() {
  return (
    process.getuid?.() === 0 && existsSync('/etc/debian_version') && findCommand('apt-get') !== undefined
  );
}

/**
 * Installs the packages of the named services. We only want their binaries: whatever the packages' own
 * init scripts start is left alone and not used.
 */
export function install(names, log) {
  const wanted = names.map((name) => packages[name]);
  log(`${wanted.join(' and ')} not found, nor Docker`);
  installPackages(wanted, log);
}

/** Installs Debian packages by name. */
export function installPackages(wanted, log) {
  log(`installing ${wanted.join(', ')} with apt-get, as you are root here`);
  aptGet(['update']);
  aptGet(['install', '-y', '--no-install-recommends', ...wanted]);
}

function aptGet(args) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  // Its output belongs to stderr, like all progress.
  const { status, error } = spawnSync(findCommand('apt-get'), args, { env, stdio: ['ignore', 2, 2] });
  if (status !== 0)
    throw new Error(`apt-get ${args.join(' ')} failed: ${error?.message ?? `exit code ${status}`}`);
}
