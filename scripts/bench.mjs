// npm run bench: services, then the contestants on them, side by side. `npm run bench -- --help` lists its options.
import { bootstrap, checkNode, outputOf } from './bootstrap.mjs';
import { exitWith, progress, projectFolder, run } from './run.mjs';
import { startServices } from './services.mjs';

await exitWith(async () => {
  checkNode();
  await bootstrap();
  const program = outputOf(`${projectFolder}bench/bench-process.ts`);
  const bench = (env) =>
    run(process.execPath, ['--enable-source-maps', program, ...process.argv.slice(2)], env);
  if (process.argv.includes('--help')) return bench(process.env);

  // With their durability as in production: commits are what is being measured.
  const services = await startServices({ log: progress, fsync: true });
  try {
    return await bench({
      ...process.env,
      AMQP_URL: services.amqpUrl,
      DATABASE_URL: services.databaseUrl,
    });
  } finally {
    await services.stop();
  }
});
