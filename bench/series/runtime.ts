import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { RuntimeFigures } from '../runtime/runtime-process.ts';

/** The runtime without orders, brokers or databases; `trees` is how many pass through the topology. */
export async function measureRuntime(trees: number): Promise<RuntimeFigures> {
  const program = fileURLToPath(new URL('../runtime/runtime-process.js', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', program, String(trees)]);
  return JSON.parse(stdout) as RuntimeFigures;
}
