import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { findCommand } from './find-binaries.mjs';
import { freePorts } from './free-ports.mjs';
import { speaksAmqp, speaksPostgres, waitUntilReady } from './ready.mjs';

const run = promisify(execFile);
const composeFile = fileURLToPath(new URL('../../docker-compose.yml', import.meta.url));
const askTimeoutMs = 10_000;
const upTimeoutMs = 600_000;
const readyTimeoutMs = 60_000;

/** True when the Docker engine answers and has the compose plugin. */
export async function dockerIsRunning() {
  if (findCommand('docker') === undefined) return false;
  try {
    await run('docker', ['compose', 'version'], { timeout: askTimeoutMs });
    await run('docker', ['info', '--format', '{{.ServerVersion}}'], { timeout: askTimeoutMs });
    return true;
  } catch {
    return false;
  }
}

/**
 * Starts the named services (`rabbitmq`, `postgres`) of docker-compose.yml as a project of our own on free
 * ports. Returns `{ rabbitmq, postgres }` with a `url` each, for those that were asked for.
 */
export async function startContainers({ keeper, names, project, log }) {
  const [amqpPort, managementPort, postgresPort] = await freePorts(3);
  const env = {
    ...process.env,
    CARDAUTH_COMPOSE_AMQP_PORT: String(amqpPort),
    CARDAUTH_COMPOSE_MANAGEMENT_PORT: String(managementPort),
    CARDAUTH_COMPOSE_POSTGRES_PORT: String(postgresPort),
  };
  const compose = ['compose', '-p', project, '-f', composeFile];
  log(
    `${names.join(' and ')}: starting in Docker (project ${project}; the first time it downloads the images)`,
  );
  keeper.runAtEnd({ command: 'docker', args: [...compose, 'down', '--volumes', '--timeout', '1'], env });
  try {
    await run('docker', [...compose, 'up', '--detach', '--wait', ...names], { env, timeout: upTimeoutMs });
  } catch (error) {
    throw new Error(`docker compose up failed for ${names.join(' and ')}: ${error.stderr || error.message}`, {
      cause: error,
    });
  }

  const services = {
    rabbitmq: { url: `amqp://guest:guest@127.0.0.1:${amqpPort}`, probe: () => speaksAmqp(amqpPort) },
    postgres: {
      url: `postgres://postgres@127.0.0.1:${postgresPort}/postgres`,
      probe: () => speaksPostgres(postgresPort),
    },
  };
  const started = {};
  for (const name of names) {
    const { url, probe } = services[name];
    await waitUntilReady({ name: `${name} in Docker`, probe, timeoutMs: readyTimeoutMs });
    started[name] = { url };
  }
  return started;
}
