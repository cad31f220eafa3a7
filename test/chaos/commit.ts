import { execFileSync } from 'node:child_process';

/** As git describes what is checked out; `unknown` outside of a repository. */
export function commit(): string {
  try {
    return execFileSync('git', ['describe', '--always', '--dirty'], { encoding: 'utf8' }).trim();
  } catch {
    return 'unknown';
  }
}
