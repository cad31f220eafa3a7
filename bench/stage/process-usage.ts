import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';

/** What a process had used at a moment, its threads together; from Linux's /proc. */
export interface UsageSample {
  /** Since the epoch. */
  readonly atMs: number;
  readonly cpuMs: number;
  readonly rssBytes: number;
}

/** Looks at processes all the time, until it is stopped. */
export interface UsageWatch {
  /** Earliest first; up to its end for one that ended. */
  of(pid: number): readonly UsageSample[];
  /** Of everything on this machine, whoever it belongs to; memory is not looked at. */
  readonly machine: readonly UsageSample[];
  stop(): void;
}

const SAMPLE_EVERY_MS = 20;
const TICK_MS = 10;
const PAGE_BYTES = 4096;

export function watchUsage(pids: readonly number[]): UsageWatch {
  const samples = new Map<number, UsageSample[]>(pids.map((pid) => [pid, []]));
  const machine: UsageSample[] = [];
  const look = (): void => {
    machine.push(machineUsage());
    for (const [pid, seen] of samples) {
      const sample = usageOf(pid);
      if (sample !== undefined) seen.push(sample);
    }
  };
  look();
  const timer = setInterval(look, SAMPLE_EVERY_MS);
  return {
    of: (pid) => samples.get(pid) ?? [],
    machine,
    stop: () => {
      clearInterval(timer);
    },
  };
}

/** Undefined once the process is gone. */
function usageOf(pid: number): UsageSample | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return undefined;
  }
  // The second field, the program's name, may hold spaces; it ends with the last parenthesis.
  const fields = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const [userTicks = 0, systemTicks = 0] = fields.slice(11, 13);
  const [pages = 0] = fields.slice(21, 22);
  return {
    atMs: performance.timeOrigin + performance.now(),
    cpuMs: (userTicks + systemTicks) * TICK_MS,
    rssBytes: pages * PAGE_BYTES,
  };
}

function machineUsage(): UsageSample {
  const cpuMs = cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0);
  return { atMs: performance.timeOrigin + performance.now(), cpuMs, rssBytes: 0 };
}

/** CPU time between two moments, each read off the line through the samples around it. */
export function cpuMsBetween(samples: readonly UsageSample[], fromMs: number, toMs: number): number {
  return cpuMsAt(samples, toMs) - cpuMsAt(samples, fromMs);
}

function cpuMsAt(samples: readonly UsageSample[], atMs: number): number {
  const next = samples.findIndex((sample) => sample.atMs >= atMs);
  const [before, after] = [samples[next - 1], samples[next]];
  if (after === undefined) return samples.at(-1)?.cpuMs ?? 0;
  if (before === undefined) return after.cpuMs;
  const share = (atMs - before.atMs) / (after.atMs - before.atMs);
  return before.cpuMs + share * (after.cpuMs - before.cpuMs);
}

/** The most memory that was seen between two moments. */
export function peakRssBytes(samples: readonly UsageSample[], fromMs = -Infinity, toMs = Infinity): number {
  const inside = samples.filter(({ atMs }) => atMs >= fromMs && atMs <= toMs);
  return inside.reduce((most, { rssBytes }) => Math.max(most, rssBytes), 0);
}
