import { execFileSync } from 'node:child_process';
import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs';
import { cpus, release, totalmem } from 'node:os';
import { join } from 'node:path';
import { query } from '../stage/databases.ts';
import type { Stage } from '../stage/stage.ts';

/** What absolute figures depend on. */
export interface MachineFacts {
  readonly commit: string;
  readonly cores: number;
  readonly cpu: string;
  readonly memoryGb: number;
  readonly kernel: string;
  readonly node: string;
  readonly rabbitmq: string;
  readonly postgresql: string;
  /** Of PostgreSQL: what a commit waits for. */
  readonly fsync: string;
  readonly synchronousCommit: string;
  /** Of the contestants' databases: what each flush of the log takes longer than this disk does. */
  readonly flushMs: number;
  /** Small writes a second that reach the disk one after the other, in the folder for temporary files. */
  readonly fdatasyncsPerSecond: number;
}

export async function machineFacts(stage: Stage): Promise<MachineFacts> {
  const [settings] = await query<{
    version: string;
    fsync: string;
    synchronous_commit: string;
    commit_delay: number;
  }>(
    stage.templates.cardauth,
    `select current_setting('server_version') as version, current_setting('fsync') as fsync,
       current_setting('synchronous_commit') as synchronous_commit, current_setting('commit_delay')::int as commit_delay`,
  );
  return {
    commit: commitOf(),
    cores: cpus().length,
    cpu: cpus()[0]?.model ?? 'unknown',
    memoryGb: totalmem() / 2 ** 30,
    kernel: release(),
    node: process.versions.node,
    rabbitmq: stage.broker.version,
    postgresql: settings?.version ?? 'unknown',
    fsync: settings?.fsync ?? 'unknown',
    synchronousCommit: settings?.synchronous_commit ?? 'unknown',
    flushMs: (settings?.commit_delay ?? 0) / 1000,
    fdatasyncsPerSecond: fdatasyncsPerSecond(stage.folder),
  };
}

function commitOf(): string {
  try {
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], {
      cwd: import.meta.dirname,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return 'unknown';
  }
}

const WRITE_BYTES = 8_192;
const MEASURE_MS = 500;

function fdatasyncsPerSecond(folder: string): number {
  const path = join(folder, 'fdatasync');
  const file = openSync(path, 'w');
  const block = Buffer.alloc(WRITE_BYTES, 1);
  const startedMs = performance.now();
  let count = 0;
  while (performance.now() - startedMs < MEASURE_MS) {
    writeSync(file, block);
    fdatasyncSync(file);
    count += 1;
  }
  const tookMs = performance.now() - startedMs;
  closeSync(file);
  rmSync(path);
  return count / (tookMs / 1000);
}
