/** `npm run chaos`: one run and its verdict. */
import { join } from 'node:path';
import { makeDirectory, startKeeper } from '../support/private-services.ts';
import { planOf } from './plan.ts';
import { runChaos } from './run-chaos.ts';

const keeper = startKeeper();
const folder = process.argv[4] ?? '/tmp/chaos-evidence';
try {
  const plan = planOf(Number(process.argv[2]), Number(process.argv[3]));
  await runChaos({
    keeper,
    directory: makeDirectory(keeper),
    folder: join(folder),
    plan,
    show: (progress) => {
      process.stderr.write(`chaos: ${JSON.stringify(progress)}\n`);
    },
  });
} finally {
  await keeper.stop();
}
