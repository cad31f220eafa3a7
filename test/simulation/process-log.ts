import type { Log, LogFields } from '../../src/ports/log.ts';
import type { SimulatedProcess } from './machine.ts';
import type { World } from './network.ts';

/**
 * What processes say, as far as it is judged: an error of a class that is the worker's own is a bug, and so is what is
 * logged as an error, unless it is the domain's alarm.
 */
export class ProcessLogs {
  /** Of tuple trees that failed, and how often. */
  readonly errorClasses = new Map<string, number>();
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  /** `messageTimeoutMs`: of its tuple trees. */
  of(process: SimulatedProcess, messageTimeoutMs = 0): Log {
    const { time, trace } = this.#world;
    const say = (level: string) => (fields: LogFields, message: string) => {
      trace.note(time.nowMs, process.name, () => `${level}: ${message} ${wordsOf(fields)}`);
    };
    return {
      trace: () => undefined,
      debug: say('debug'),
      info: say('info'),
      warn: (fields, message) => {
        say('warn')(fields, message);
        this.#warned(fields, message);
        if (fields['reason'] === 'timeout' && !process.wasStopped) this.#timedOut(fields, messageTimeoutMs);
      },
      error: (fields, message) => {
        say('error')(fields, message);
        if (!isExpected(process, fields, message))
          this.#world.violated('bug', `${message}: ${wordsOf(fields)}`);
      },
    };
  }

  /** I16: within the thirtieth part of the timeout, by a clock that nobody sets. */
  #timedOut({ ageMs }: LogFields, timeoutMs: number): void {
    // Differences of times are not exact: an age may be the least bit below.
    const isInTime = Number(ageMs) >= timeoutMs - 1e-6 && Number(ageMs) <= (timeoutMs * 31) / 30 + 1;
    if (!isInTime) this.#world.violated('I16', `a tree timed out after ${String(ageMs)} ms`);
  }

  #warned(fields: LogFields, message: string): void {
    const { errorClass } = fields;
    if (typeof errorClass !== 'string') return;
    this.errorClasses.set(errorClass, (this.errorClasses.get(errorClass) ?? 0) + 1);
    if (UNEXPECTED.includes(errorClass)) this.#world.violated('bug', `${message}: ${wordsOf(fields)}`);
  }
}

/** Alarms are the domain's, and deadlines of closing pass while a process is stopped. */
function isExpected(process: SimulatedProcess, { phase }: LogFields, message: string): boolean {
  if (message.startsWith('alarm') || message.startsWith('the resolver could not announce')) return true;
  return process.wasStopped && phase === 'spout.close';
}

/** Classes of errors that are the worker's own. */
const UNEXPECTED: readonly string[] = ['bug', 'unknown', 'database_refused'];

function wordsOf(fields: LogFields): string {
  return Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${value instanceof Error ? value.message : String(value)}`)
    .join(' ');
}
