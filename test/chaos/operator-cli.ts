import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Keeper } from '../support/private-services.ts';
import { record } from './files.ts';

/** A line of operators.ndjson: one command, as a process of its own. */
export interface OperatorCommand {
  /** When it was started. */
  readonly atMs: number;
  readonly tookMs: number;
  /** As typed, without `--json`. */
  readonly args: readonly string[];
  /** undefined for those that change nothing. */
  readonly commandId?: string;
  /** null: it was killed. */
  readonly exitCode: number | null;
  /** What it printed on stdout, one value a line. */
  readonly printed: readonly unknown[];
  /** The end of what it printed, when it ended with an error. */
  readonly said?: string;
}

export interface OperatorParts {
  readonly keeper: Keeper;
  readonly folder: string;
  readonly program: string;
  readonly environment: Readonly<Record<string, string>>;
}

interface RunOptions {
  /** Started, and killed as soon as this has resolved. */
  readonly killAfter?: (said: () => string) => Promise<void>;
}

const UNREACHABLE = 69;
const TRY_AGAIN_AFTER_MS = 500;
const PATIENCE_MS = 90_000;
const MOST_SAID = 400;

/** Types commands, each into a shell of its own, and writes down what they came to. */
export class OperatorCli {
  readonly #parts: OperatorParts;
  #commands = 0;

  constructor(parts: OperatorParts) {
    this.#parts = parts;
  }

  /** Runs it once, whatever comes of it. */
  async run(args: readonly string[], { killAfter }: RunOptions = {}): Promise<OperatorCommand> {
    const { environment, folder, keeper, program } = this.#parts;
    const atMs = Date.now();
    this.#commands += 1;
    const logFile = join(folder, `operator-${this.#commands}.log`);
    const said = (): string => (existsSync(logFile) ? readFileSync(logFile, 'utf8') : '');
    const command = await keeper.spawn({
      command: process.execPath,
      args: [program, ...args, '--json'],
      env: { ...process.env, ...environment },
      cwd: folder,
      logFile,
      stopSignals: ['SIGKILL'],
    });
    if (killAfter !== undefined) {
      await Promise.race([killAfter(said), command.exited]);
      kill(command.pid);
    }
    const { code } = await command.exited;
    const commandId = args[args.indexOf('--command-id') + 1];
    const ended: OperatorCommand = {
      atMs,
      tookMs: Date.now() - atMs,
      args,
      ...(args.includes('--command-id') && commandId !== undefined && { commandId }),
      exitCode: code,
      printed: printedIn(said()),
      ...(code !== 0 && { said: said().slice(-MOST_SAID) }),
    };
    record(folder, 'operators', ended);
    return ended;
  }

  /** Types it again while a service is away; throws when it ends with a code that is not wanted. */
  async insist(args: readonly string[], wanted: readonly number[] = [0]): Promise<OperatorCommand> {
    const deadlineMs = performance.now() + PATIENCE_MS;
    for (;;) {
      const ended = await this.run(args);
      const { exitCode, said = '' } = ended;
      if (exitCode !== null && wanted.includes(exitCode)) return ended;
      if (exitCode !== UNREACHABLE || performance.now() > deadlineMs)
        throw new Error(`cardauth ${args.join(' ')} ended with ${String(exitCode)}: ${said}`);
      await sleep(TRY_AGAIN_AFTER_MS);
    }
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    // It was done before.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Whatever is no JSON went to stderr. */
function printedIn(text: string): unknown[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .flatMap((line) => {
      try {
        return [JSON.parse(line) as unknown];
      } catch {
        return [];
      }
    });
}
