import { cardauth, startProcess, type WorkerProcess } from '../support/worker-process.ts';
import type { Environment, Owner } from './stage.ts';

export interface CliResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Starts a command in a process of its own, its streams in pipes. */
export function startCli(owner: Owner, args: readonly string[], env: Environment): WorkerProcess {
  return startProcess({ owner, args: [cardauth, ...args], env });
}

export async function runCli(owner: Owner, args: readonly string[], env: Environment): Promise<CliResult> {
  const command = startCli(owner, args, env);
  const { code } = await command.exited;
  const textOf = (from: 'stdout' | 'stderr') =>
    command.lines.filter((line) => line.from === from).map(({ text }) => text);
  return { code, stdout: textOf('stdout').join('\n'), stderr: textOf('stderr').join('\n') };
}
