import type { Problem } from '../problems.ts';
import { seededRandom } from '../random.ts';
import { TopologyRunner } from '../runner.ts';
import type { Topology } from '../topology.ts';
import type { Values } from '../tuple.ts';
import { VirtualClock } from './virtual-clock.ts';
import { VirtualProcess } from './virtual-process.ts';

export interface LocalRunnerOptions {
  /** Decides the interleaving, edge ids and every other random choice. Without it: first ready, first run. */
  readonly seed?: number;
  /** Shared by several runners, or made by the test beforehand; by default one of its own. */
  readonly clock?: VirtualClock;
  /** The process the topology lives in; a test makes it first when its bolts wait by it. */
  readonly process?: VirtualProcess;
}

export interface CapturedTuple {
  readonly messageId: string | undefined;
  readonly values: Values;
}

/** Steps after which `runToIdle` takes it that the topology never becomes idle. */
const MOST_STEPS = 1_000_000;

/** Runs a topology under a virtual clock: to idle exactly, in any interleaving, up to a crash at any await. */
export class LocalRunner {
  readonly clock: VirtualClock;
  readonly process: VirtualProcess;
  readonly runner: TopologyRunner;
  readonly problems: Problem[] = [];
  readonly #captured = new Map<string, CapturedTuple[]>();
  #steps = 0;
  #crashAtStep = Infinity;

  constructor(topology: Topology, options: LocalRunnerOptions = {}) {
    const random = seededRandom(options.seed ?? 1);
    this.clock = options.clock ?? new VirtualClock(options.seed === undefined ? {} : { random });
    this.process = options.process ?? new VirtualProcess(this.clock);
    this.runner = new TopologyRunner(topology, {
      clock: this.process,
      random,
      steps: this.process,
      onProblem: (problem) => {
        this.problems.push(problem);
      },
      watch: ({ component, stream }, values, messageId) => {
        this.captured(component, stream).push({ messageId, values });
      },
    });
  }

  /** Steps run so far; what `crashAtStep` counts. */
  get steps(): number {
    return this.#steps;
  }

  get crashed(): boolean {
    return this.process.isKilled;
  }

  /** Everything emitted on a stream so far, in order. */
  captured(component: string, stream: string): CapturedTuple[] {
    const name = `${component}.${stream}`;
    const captured = this.#captured.get(name) ?? [];
    this.#captured.set(name, captured);
    return captured;
  }

  async start(): Promise<void> {
    await this.settle(this.runner.start());
    await this.runToIdle();
  }

  /** Runs until nothing can happen any more without time passing. */
  async runToIdle(): Promise<void> {
    await microtasks();
    for (let steps = 0; this.clock.hasReady; steps++) {
      if (steps > MOST_STEPS)
        throw new Error(`the topology is not idle after ${MOST_STEPS} steps: a hot loop`);
      if (this.#steps === this.#crashAtStep) this.crash();
      this.#steps++;
      this.clock.runOne();
      await microtasks();
    }
  }

  /** Lets that much time pass, and everything happen in it at its time. */
  async advance(byMs: number): Promise<void> {
    const endMs = this.clock.nowMs() + byMs;
    await this.runToIdle();
    for (
      let next = this.clock.nextTimerMs;
      next !== undefined && next <= endMs;
      next = this.clock.nextTimerMs
    ) {
      this.clock.move(Math.max(0, next - this.clock.nowMs()));
      await this.runToIdle();
    }
    this.clock.move(endMs - this.clock.nowMs());
  }

  /** Lets time pass until the promise has settled, and gives its value. */
  async settle<T>(promise: Promise<T>): Promise<T> {
    let settled = false;
    const settling = promise.finally(() => {
      settled = true;
    });
    settling.catch(() => undefined);
    const isSettled = (): boolean => settled;
    await this.runToIdle();
    while (!isSettled()) {
      const next = this.clock.nextTimerMs;
      if (next === undefined) throw new Error('nothing is left to happen, and the promise has not settled');
      await this.advance(next - this.clock.nowMs());
    }
    return settling;
  }

  /** The process dies now: nothing of it runs again. */
  crash(): void {
    this.runner.kill();
    this.process.kill();
  }

  /** The process dies before the step of that number. */
  crashAtStep(step: number): void {
    this.#crashAtStep = step;
  }
}

/**
 * Resolves when all promise callbacks have run. Called from one, as here, process.nextTick waits for the whole
 * microtask queue, at a fraction of the cost of a turn of the event loop.
 */
function microtasks(): Promise<void> {
  return new Promise((resolve) => {
    process.nextTick(resolve);
  });
}
