/**
 * Loaded into the workers of a soak (`node --import`): every few seconds it writes down what its process takes, as lines
 * of vitals.ndjson in the folder that the variable VITALS names.
 */
import { readdirSync } from 'node:fs';
import { record } from './files.ts';

export interface Vitals {
  readonly atMs: number;
  readonly pid: number;
  readonly rssBytes: number;
  readonly heapBytes: number;
  /** Open files and sockets; 0 where the system does not tell. */
  readonly descriptors: number;
  /** Timers, sockets, requests: what keeps the event loop busy. */
  readonly resources: number;
}

const EVERY_MS = 2_000;
const folder = process.env['VITALS'];

if (folder !== undefined) setInterval(write, EVERY_MS, folder).unref();

function write(to: string): void {
  const { heapUsed: heapBytes, rss: rssBytes } = process.memoryUsage();
  const resources = process.getActiveResourcesInfo().length;
  const { pid } = process;
  const vitals: Vitals = {
    atMs: Date.now(),
    pid,
    rssBytes,
    heapBytes,
    descriptors: descriptors(),
    resources,
  };
  record(to, 'vitals', vitals);
}

function descriptors(): number {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch {
    return 0;
  }
}
