import { randomUUID } from 'node:crypto';
import { createReadStream, readFileSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import { addAbortSignal, type Readable } from 'node:stream';
import { packageVersion } from '../version.ts';
import { listenForInterruption } from './interruption.ts';
import { runCli } from './run.ts';
import { createTerminal } from './terminal.ts';

/** The program behind `bin/cardauth.mjs`: the process's own streams, signals and exit code around `runCli`. */

// `cardauth ... | head` closes stdout early; there is nobody left to tell.
process.stdout.on('error', () => process.exit());

process.exitCode = await runCli(process.argv.slice(2), {
  version: packageVersion(),
  parts: {
    worker: async () => (await import('../main.ts')).runWorker,
    migrations: async () => (await import('../operations.ts')).openMigrations,
    orderPublisher: async () => (await import('../operations.ts')).openOrderPublisher,
    auditTrail: async () => {
      const { openAuditTrail } = await import('../operations.ts');
      return (config) => Promise.resolve(openAuditTrail(config));
    },
    cardCipher: async () => (await import('../operations.ts')).openCardCipher,
    orderSearch: async () => {
      const { openOrderSearch } = await import('../operations.ts');
      return (config) => Promise.resolve(openOrderSearch(config));
    },
    fleet: async () => (await import('../operations.ts')).openFleet,
    queueDepths: async () => (await import('../operations.ts')).openQueueDepths,
    orderHistory: async () => {
      const { openOrderHistory } = await import('../operations.ts');
      return (config) => Promise.resolve(openOrderHistory(config));
    },
    examinations: async () => (await import('../examinations.ts')).examinationsOf,
    money: () => import('../money-operations.ts'),
    parked: () => import('../parked-operations.ts'),
    demo: async () => (await import('../demo/demo.ts')).runDemo,
    simulator: async () => ({
      ...(await import('../simulator/simulator.ts')),
      ...(await import('../simulator/fault-script.ts')),
    }),
  },
  terminal: createTerminal(process),
  env: process.env,
  readFile: (path) => readFileSync(path, 'utf8'),
  openInput,
  newMessageId: randomUUID,
  nowMs: Date.now,
  userAtHost,
  interruption: () => listenForInterruption(process),
});

/** A container's user may have a number only. */
function userAtHost(): string {
  return `${userName()}@${hostname()}`;
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid-${String(process.getuid?.() ?? 'unknown')}`;
  }
}

function openInput(path: string, signal: AbortSignal): Readable {
  return addAbortSignal(signal, path === '-' ? process.stdin : createReadStream(path));
}
