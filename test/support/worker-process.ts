import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { LeashMessage } from './leash-process.ts';

export interface Line {
  readonly from: 'stdout' | 'stderr';
  readonly text: string;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface WorkerProcess {
  readonly pid: number;
  /** What it wrote so far, oldest first; the newest 5,000 lines. */
  readonly lines: readonly Line[];
  /** Resolves to the first line, also of the past, that has this text in it or satisfies the predicate. */
  waitForLine(wanted: string | ((line: Line) => boolean), options?: { timeoutMs?: number }): Promise<Line>;
  kill(signal?: NodeJS.Signals): void;
  /** Resolves when it is gone and all of its output is in `lines`. */
  readonly exited: Promise<Exit>;
}

interface StartOptions {
  /** The test's context, or `{ after }` of node:test for a whole file: the process is killed after it. */
  readonly owner: { after(cleanup: () => Promise<void>): void };
  /** Node by default. */
  readonly command?: string;
  readonly args: readonly string[];
  /** Added to our own environment, less the settings of tests and workers in it; `undefined` takes a variable away. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** A worker refuses names that it does not know, such as a test's seed or scale, and is not to take ours for its own. */
function ambientEnvironment(): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('CARDAUTH_')));
}

const maxLines = 5_000;
const linesInErrors = 30;

/**
 * Starts a process, collects its output, and sees to its end: after its owner, and also when this process
 * crashes or is killed. `node bin/cardauth.mjs worker` is `{ args: [cardauth, 'worker'] }`.
 */
export function startProcess({ owner, command = process.execPath, args, env }: StartOptions): WorkerProcess {
  const child = spawn(command, args, {
    env: { ...ambientEnvironment(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const { pid } = child;
  if (pid === undefined) throw new Error(`${command} could not be started; is it installed?`);
  tellLeash({ started: pid });

  const lines: Line[] = [];
  const listeners = new Set<() => void>();
  const tellListeners = (): void => {
    for (const listener of listeners) listener();
  };
  collect(child, (line) => {
    lines.push(line);
    if (lines.length > maxLines) lines.shift();
    tellListeners();
  });

  let exit: Exit | undefined;
  const exited = new Promise<Exit>((resolve) => {
    child.once('exit', () => {
      tellLeash({ ended: pid });
    });
    child.once('close', (code, signal) => {
      exit = { code, signal };
      resolve(exit);
      tellListeners();
    });
  });
  const name = [command, ...args].join(' ');

  const worker: WorkerProcess = {
    pid,
    lines,
    exited,
    kill: (signal = 'SIGTERM') => {
      child.kill(signal);
    },
    waitForLine: (wanted, { timeoutMs = 20_000 } = {}) =>
      new Promise((resolve, reject) => {
        const isWanted = typeof wanted === 'string' ? (line: Line) => line.text.includes(wanted) : wanted;
        const stop = (settle: () => void): void => {
          listeners.delete(look);
          clearTimeout(timer);
          settle();
        };
        const giveUp = (why: string): void => {
          const what = typeof wanted === 'string' ? JSON.stringify(wanted) : 'the wanted line';
          stop(() => {
            reject(new Error(`${name} ${why} ${what}; its last lines:\n${lastLines(lines)}`));
          });
        };
        const look = (): void => {
          const found = lines.find(isWanted);
          if (found) {
            stop(() => {
              resolve(found);
            });
          } else if (exit) giveUp(`ended (${String(exit.signal ?? exit.code)}) without`);
        };
        const timer = setTimeout(() => {
          giveUp(`did not write within ${timeoutMs} ms`);
        }, timeoutMs);
        listeners.add(look);
        look();
      }),
  };
  owner.after(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  return worker;
}

/** `bin/cardauth.mjs`, the first of `args` for our own commands. */
export const cardauth = fileURLToPath(new URL('../../../bin/cardauth.mjs', import.meta.url));

function collect(child: ChildProcess, onLine: (line: Line) => void): void {
  const read = (stream: Readable | null, from: Line['from']): void => {
    if (stream === null) return;
    createInterface({ input: stream }).on('line', (text) => {
      onLine({ from, text });
    });
  };
  read(child.stdout, 'stdout');
  read(child.stderr, 'stderr');
}

function lastLines(lines: readonly Line[]): string {
  return lines
    .slice(-linesInErrors)
    .map(({ from, text }) => `  ${from}: ${text}`)
    .join('\n');
}

let theLeash: Writable | undefined;

/** One helper for this process that kills what we started when we end without having done so ourselves. */
function tellLeash(message: LeashMessage): void {
  theLeash ??= startLeash();
  theLeash.write(`${JSON.stringify(message)}\n`);
}

function startLeash(): Writable {
  const program = fileURLToPath(new URL('leash-process.js', import.meta.url));
  const leash = spawn(process.execPath, [program], { detached: true, stdio: ['pipe', 'ignore', 'inherit'] });
  // It waits for us, never we for it; a pipe to a child is a socket in all but its type.
  leash.unref();
  if (leash.stdin instanceof Socket) leash.stdin.unref();
  return leash.stdin;
}
