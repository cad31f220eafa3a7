/**
 * Bugs that the checker must find: the built program is copied, and one line of the copy changed, so that no hook for
 * any of this lives in the program itself.
 */
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const project = fileURLToPath(new URL('../../..', import.meta.url));

interface Plant {
  readonly file: string;
  /** Must be there exactly once. */
  readonly line: string;
  readonly becomes: string;
}

const PLANTS: Readonly<Record<string, Plant>> = {
  /** Every request has a key of its own: whatever is sent again charges again. */
  'random-key': {
    file: 'dist/src/bolts/authorize-credit-card.js',
    line: 'await ask(idempotencyKey, generation)',
    becomes: 'await ask(`${idempotencyKey}-${Math.random().toString(36).slice(2)}`, generation)',
  },
  /** A delivery is acked when it arrives: whatever the worker then forgets is lost. */
  'early-ack': {
    file: 'dist/src/adapters/rabbitmq/intake.js',
    line: 'generation.receive(message);',
    becomes: "generation.receive(message); generation.settle(message, 'ack');",
  },
  /** The audit log says of something else that it was replayed. */
  'unaudited-replay': {
    file: 'dist/src/adapters/postgres/replay-batches.js',
    line: "'parked:' || r.park_id,",
    becomes: "'forgotten:' || r.park_id,",
  },
};

export const PLANT_NAMES = Object.keys(PLANTS);

/** Copies the program into `folder` with the bug in it, and returns the path of its `cardauth`. */
export function plant(name: string, folder: string): string {
  const bug = PLANTS[name];
  if (bug === undefined) throw new RangeError(`there is no bug ${name} to plant: ${PLANT_NAMES.join(', ')}`);
  const { file, line, becomes } = bug;
  mkdirSync(folder, { recursive: true });
  for (const part of ['bin', 'dist/src', 'migrations', 'package.json'])
    cpSync(join(project, part), join(folder, part), { recursive: true });
  symlinkSync(join(project, 'node_modules'), join(folder, 'node_modules'));

  const path = join(folder, file);
  const parts = readFileSync(path, 'utf8').split(line);
  if (parts.length !== 2)
    throw new Error(`${file} has "${line}" ${parts.length - 1} times instead of once: plant ${name} anew`);
  writeFileSync(path, parts.join(becomes));
  return join(folder, 'bin', 'cardauth.mjs');
}
