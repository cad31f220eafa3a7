/** Nothing to start a service from; the exit code is EX_UNAVAILABLE of sysexits. */
export class ServicesUnavailable extends Error {
  exitCode = 69;
}

/**
 * Where each service will come from, by the first of these that is possible:
 *
 *   { from: 'environment', url }      AMQP_URL or DATABASE_URL
 *   { from: 'binaries', binaries }    a private instance
 *   { from: 'docker' }                a container
 *   { from: 'apt' }                   install, then as 'binaries'
 *
 * `machine` answers what there is: `findRabbitmq()`, `findPostgres()`, `dockerIsRunning()`, `canInstall()`.
 */
export async function planServices({ env, machine }) {
  const rabbitmq = await planOne(env.AMQP_URL, machine.findRabbitmq, machine);
  const postgres = await planOne(env.DATABASE_URL, machine.findPostgres, machine);
  const missing = [!rabbitmq && 'RabbitMQ', !postgres && 'PostgreSQL'].filter(Boolean);
  if (missing.length > 0) throw new ServicesUnavailable(choices(missing));
  return { rabbitmq, postgres };
}

async function planOne(url, find, machine) {
  if (url) return { from: 'environment', url };
  const binaries = find();
  if (binaries) return { from: 'binaries', binaries };
  if (await machine.dockerIsRunning()) return { from: 'docker' };
  if (machine.canInstall()) return { from: 'apt' };
  return undefined;
}

function choices(missing) {
  return `no ${missing.join(' and no ')} found. Any one of these will do:
  - give the address of one that runs:  AMQP_URL=amqp://user:password@host:5672
                                        DATABASE_URL=postgres://user@host:5432/database
  - install the programs; they need not run, a private instance is started:
      Debian, Ubuntu:  apt-get install rabbitmq-server postgresql   (done for you when you are root)
      macOS:           brew install rabbitmq postgresql@17
  - start a Docker engine with the compose plugin (try: docker info)`;
}
