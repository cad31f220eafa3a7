/**
 * One task of a bolt: takes tuples from its mailbox and runs them, `concurrency` at a time, ticks first. A slot is
 * free again when the tuple was executed and everything it emitted found room downstream: that is the
 * back-pressure. A tuple whose trees ended while it waited is not executed: nobody would use the result.
 */
import type { Tick } from './bolt.ts';
import type { Clock } from './clock.ts';
import type { Execution } from './execution.ts';
import { Mailbox } from './mailbox.ts';
import type { ReportProblem } from './problems.ts';
import type { RoutedTuple, TupleTarget } from './routed-tuple.ts';
import type { BoltCounters } from './statistics.ts';
import type { StepScheduler } from './steps.ts';

export interface BoltTaskParts {
  readonly component: string;
  readonly task: number;
  readonly concurrency: number;
  readonly mailboxCapacity: number;
  readonly clock: Clock;
  readonly steps: StepScheduler;
  readonly counters: BoltCounters;
  readonly reportProblem: ReportProblem;
  /** Called whenever the task has become idle. */
  readonly onIdle: () => void;
}

export class BoltTask implements TupleTarget {
  readonly component: string;
  readonly task: number;
  readonly #parts: BoltTaskParts;
  readonly #mailbox: Mailbox<RoutedTuple>;
  #execution: Execution | undefined;
  #stopped = false;
  #running = 0;
  #stepScheduled = false;
  #queuedTick: Tick | undefined;
  readonly #step = (): void => {
    this.#stepScheduled = false;
    this.#runOne();
  };

  readonly #finish = (): void => {
    this.#running--;
    this.#scheduleStep();
    if (this.isIdle) this.#parts.onIdle();
  };

  constructor(parts: BoltTaskParts) {
    this.component = parts.component;
    this.task = parts.task;
    this.#parts = parts;
    this.#mailbox = new Mailbox(parts.mailboxCapacity);
  }

  get load(): number {
    return this.#mailbox.size + this.#running;
  }

  get hasRoom(): boolean {
    return !this.#mailbox.isFull;
  }

  get isIdle(): boolean {
    return this.load === 0 && this.#queuedTick === undefined;
  }

  /** Nothing is executed before this. */
  begin(execution: Execution): void {
    if (this.#stopped) return;
    this.#execution = execution;
    this.#scheduleStep();
  }

  deliver(tuple: RoutedTuple): Promise<void> | undefined {
    tuple.queuedAtMs = this.#parts.clock.nowMs();
    tuple.see('queued');
    const room = this.#mailbox.post(tuple);
    this.#scheduleStep();
    return room;
  }

  /** False when the tick before this one still waits. */
  offerTick(tick: Tick): boolean {
    if (this.#queuedTick !== undefined) return false;
    this.#queuedTick = tick;
    this.#scheduleStep();
    return true;
  }

  /** Runs nothing more, drops what waits, and lets waiting emitters go on. */
  stop(): void {
    this.#stopped = true;
    this.#execution = undefined;
    this.#queuedTick = undefined;
    this.#mailbox.close();
  }

  #scheduleStep(): void {
    if (this.#stepScheduled || this.#execution === undefined) return;
    if (this.#running >= this.#parts.concurrency) return;
    this.#stepScheduled = true;
    this.#parts.steps.schedule(this.#step);
  }

  /** One tuple a step, so that the event loop and the other tasks get their turn. */
  #runOne(): void {
    if (this.#execution === undefined || this.#running >= this.#parts.concurrency) return;
    // Counted while it runs, though it may be over at once: an ack inside must not find the task idle.
    this.#running++;
    const done = this.#startNext(this.#execution);
    if (done === undefined) this.#running--;
    else void done.then(this.#finish);
    if (this.#mailbox.size > 0 || this.#queuedTick !== undefined) this.#scheduleStep();
    else if (this.isIdle) this.#parts.onIdle();
  }

  /** Undefined when it was over at once. */
  #startNext(execution: Execution): Promise<unknown> | undefined {
    const tick = this.#queuedTick;
    if (tick !== undefined) {
      this.#queuedTick = undefined;
      return this.#runTick(execution, tick);
    }
    const tuple = this.#mailbox.take();
    return tuple === undefined ? undefined : this.#runTuple(execution, tuple);
  }

  #runTuple(execution: Execution, tuple: RoutedTuple): Promise<unknown> | undefined {
    if (tuple.isExpired) {
      tuple.counters.expired.value++;
      return undefined;
    }
    tuple.begin(this.#parts.clock.nowMs());
    return execution.execute(tuple);
  }

  async #runTick(execution: Execution, tick: Tick): Promise<void> {
    const { counters, component, reportProblem } = this.#parts;
    counters.ticks.value++;
    counters.ticksMissed.value += tick.missed;
    try {
      await execution.tick(tick);
    } catch (error) {
      reportProblem({ component, during: 'tick', error });
    }
  }
}
