import { simulate } from './simulation.ts';
import { PLANTS } from './plants.ts';
Error.stackTraceLimit = 0;
for (const plant of PLANTS) {
  if (process.argv[2] !== undefined && !plant.name.includes(process.argv[2])) continue;
  const undo = plant.patch?.();
  let found = '';
  for (let seed = 1; seed <= 500 && found === ''; seed++) {
    const { violations } = await simulate({ seed, alter: plant.alter });
    const [first] = violations;
    if (first !== undefined) found = `${seed} ${first.invariant} ${first.what}`;
  }
  undo?.();
  console.log(plant.name.padEnd(40), found);
}
process.exit(0);
