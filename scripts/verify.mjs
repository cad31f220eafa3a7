// npm run verify: what takes minutes and is therefore not part of `npm test`. Each step must end with exit code 0.
import { exitWith, progress, projectFolder, run } from './run.mjs';

const large = { CARDAUTH_TEST_SCALE: 'large' };

const steps = [
  ['test.mjs', '.slow.'],
  ['test.mjs', 'e2e/broker-cuts', 'e2e/broker-load'],
  ['model.mjs'],
  ['sim.mjs', '--seeds', '50000'],
  ['chaos.mjs', '--orders', '5000'],
  // Negative controls: a bug is planted, and has to be found.
  ['chaos.mjs', '--orders', '600', '--plant', 'random-key'],
  ['chaos.mjs', '--orders', '600', '--plant', 'early-ack'],
  ['chaos.mjs', '--orders', '300', '--plant', 'unaudited-replay'],
];

await exitWith(async () => {
  for (const [script, ...options] of steps) {
    const name = [script.replace('.mjs', ''), ...options].join(' ');
    progress(`verify: ${name}`);
    const exitCode = await run(process.execPath, [`${projectFolder}scripts/${script}`, ...options], {
      ...process.env,
      ...large,
    });
    if (exitCode !== 0) throw new Error(`verify: ${name} ended with ${exitCode}`);
  }
  return 0;
});
