// npm run sim: the deterministic simulation; `npm run sim -- --help` says what it can do.
import { join } from 'node:path';
import { bootstrap, checkNode } from './bootstrap.mjs';
import { exitWith, projectFolder, run } from './run.mjs';

await exitWith(async () => {
  checkNode();
  await bootstrap();
  const main = join(projectFolder, 'dist/test/simulation/sim-process.js');
  // Two threads use both cores: the collector's helpers would only be in their way.
  return run(process.execPath, [
    '--enable-source-maps',
    '--single-threaded-gc',
    main,
    ...process.argv.slice(2),
  ]);
});
