// npm run soak: a steady load for half an hour on the stage of the chaos runs, and whether it stays flat.
// `npm run soak -- --help` lists its options. RabbitMQ and PostgreSQL must be installed; they need not run.
import { bootstrap, checkNode, outputOf } from './bootstrap.mjs';
import { exitWith, projectFolder, run } from './run.mjs';
import { findPostgres, findRabbitmq } from './services/find-binaries.mjs';
import { ServicesUnavailable } from './services/plan.mjs';

await exitWith(async () => {
  checkNode();
  if (findRabbitmq() === undefined || findPostgres() === undefined) {
    throw new ServicesUnavailable(
      'a soak needs the programs of RabbitMQ and PostgreSQL, which it starts and kills itself: ' +
        'apt-get install rabbitmq-server postgresql',
    );
  }
  await bootstrap();
  const program = outputOf(`${projectFolder}test/chaos/soak-process.ts`);
  return run(process.execPath, ['--enable-source-maps', program, ...process.argv.slice(2)]);
});
