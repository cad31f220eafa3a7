// npm run demo: services, then `cardauth demo` on them. `npm run demo -- --help` lists its options.
import { bootstrap, checkNode } from './bootstrap.mjs';
import { exitWith, progress, run } from './run.mjs';
import { startServices } from './services.mjs';

const firstSignalExitCode = 128;

await exitWith(async () => {
  checkNode();
  const options = process.argv.slice(2);
  await bootstrap();
  const services = await startServices({ log: progress });
  try {
    const env = { ...process.env, AMQP_URL: services.amqpUrl, DATABASE_URL: services.databaseUrl };
    const exitCode = await run(process.execPath, ['bin/cardauth.mjs', 'demo', ...options], env);
    if (options.includes('--keep') && exitCode < firstSignalExitCode) await keep(services);
    return exitCode;
  } finally {
    await services.stop();
  }
});

/** Until a signal ends us, unless nothing was started for this demo. */
async function keep({ amqpUrl, databaseUrl, origin }) {
  if (Object.values(origin).every((from) => from === 'environment')) return;
  progress(`still running until Ctrl-C:\n  AMQP_URL=${amqpUrl}\n  DATABASE_URL=${databaseUrl}`);
  await new Promise(() => undefined);
}
