import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import type { Command } from 'commander';
import type { Parts } from '../../src/cli/parts.ts';
import { createProgram, runCli } from '../../src/cli/run.ts';
import { createTerminal } from '../../src/cli/terminal.ts';
import { assertDocumentedJson } from './documented-json.ts';

export interface CliRun {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CliWorld {
  readonly parts?: Parts;
  readonly env?: Readonly<Record<string, string>>;
  readonly files?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  readonly isTTY?: boolean;
  /** Columns of the terminal that stdout is; undefined: it is a pipe. */
  readonly width?: number;
  readonly newMessageId?: () => string;
  /** Aborted: SIGINT came. */
  readonly interrupt?: AbortSignal;
}

/**
 * Runs a command line in this process, against files, streams and parts of the test's own. What it prints under
 * `--json` is held against the command's schema.
 */
export async function cli(args: readonly string[], world: CliWorld = {}): Promise<CliRun> {
  const { parts = {}, env = {}, files = {}, stdin = '', isTTY = false } = world;
  const interrupt = world.interrupt ?? new AbortController().signal;
  let [stdout, stderr] = ['', ''];
  const readFile = (path: string): string => {
    const text = files[path];
    if (text === undefined) throw Object.assign(new Error(`ENOENT: ${path}`), { code: 'ENOENT' });
    return text;
  };
  const exitCode = await runCli(args, {
    version: '1.2.3',
    parts,
    terminal: createTerminal({
      stdout: {
        write: (text) => (stdout += text),
        ...(world.width !== undefined && { isTTY: true, columns: world.width }),
      },
      stderr: { write: (text) => (stderr += text), isTTY },
      env,
    }),
    env,
    readFile,
    openInput: (path) => Readable.from([Buffer.from(path === '-' ? stdin : readFile(path))]),
    newMessageId: world.newMessageId ?? (() => 'message-id'),
    nowMs: Date.now,
    userAtHost: () => 'anna@ops-1',
    interruption: () => ({
      signal: interrupt,
      exitCode: () => (interrupt.aborted ? 130 : undefined),
      requested: new Promise((resolve) => {
        interrupt.addEventListener('abort', () => {
          resolve();
        });
      }),
      release: () => undefined,
    }),
  });
  await assertDocumentedJson(args, stdout);
  return { exitCode, stdout, stderr };
}

/** As if every part were there; to be looked at and not run. */
export const everyPart: Parts = new Proxy({}, { get: () => () => assert.fail('no command is run') });

/** Every command there is, to be looked at and not run: as if every part were there. */
export function wholeProgram(): Command {
  const notRun = (): never => assert.fail('no command is run');
  const terminal = createTerminal({ stdout: { write: notRun }, stderr: { write: notRun }, env: {} });
  const context = {
    parts: everyPart,
    terminal,
    env: {},
    readFile: notRun,
    openInput: notRun,
    newMessageId: notRun,
    nowMs: notRun,
    userAtHost: notRun,
    interruption: notRun,
    exitWith: notRun,
  };
  return createProgram(context, '1.2.3');
}

/** Variables without which a worker does not start. */
export const workerEnv = {
  CARDAUTH_GATEWAY_API_KEY: 'sk_test_0123456789',
  CARDAUTH_FINGERPRINT_KEY: 'fingerprint-key-16',
};
