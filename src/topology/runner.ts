/**
 * The life of a topology, as a table of contents:
 *
 * start -> (pause <-> resume)* -> drain -> ended, with `abort` to end at once, and `kill` to stop dead as a crash
 * would, for tests. What it starts, it stops: after `drain` or `abort` there is no pending tree and no timer left.
 */
import { assemble, type Assembly } from './assembly.ts';
import type { Clock } from './clock.ts';
import { ComponentLife } from './component-life.ts';
import { Drain, type DrainReport } from './drain.ts';
import type { OutletParts } from './outlet.ts';
import { problemReporter, type ReportProblem } from './problems.ts';
import type { RandomSource } from './random.ts';
import type { TreeFailure } from './spout.ts';
import { Statistics } from './statistics.ts';
import { reportStatistics, type StatisticsReport } from './statistics-report.ts';
import { MicrotaskSteps, type StepScheduler } from './steps.ts';
import { TickSource } from './ticks.ts';
import { MOST_LIVE_TREES, type Topology } from './topology.ts';
import { TupleTrees } from './tuple-trees.ts';

export interface RunnerOptions {
  readonly clock: Clock;
  readonly random: RandomSource;
  /** Told of what broke its contract without a tuple to fail for it. */
  readonly onProblem?: ReportProblem;
  /** Told of every tuple tree that failed. */
  readonly onTreeFailed?: (failure: TreeFailure) => void;
  /** How long the cleanup of bolts, and then the close of spouts, may take at the end. Default 5,000. */
  readonly closeTimeoutMs?: number;
  /** For tests: decides the order of the runtime's own steps. */
  readonly steps?: StepScheduler;
  /** For tests: sees every emit. */
  readonly watch?: OutletParts['watch'];
}

/** A pending tuple tree, for people. */
export interface PendingTree {
  readonly spout: string;
  readonly messageId: string;
  readonly ageMs: number;
  readonly remainingMs: number;
  readonly component: string;
  readonly task: number;
  readonly phase: string;
}

/** How long closing may take when the end was asked for at once. */
const URGENT_CLOSE_MS = 500;

type RunnerState = 'new' | 'starting' | 'running' | 'draining' | 'ended';

export class TopologyRunner {
  readonly #clock: Clock;
  readonly #closeTimeoutMs: number;
  readonly #statistics: Statistics;
  readonly #reportProblem: ReportProblem;
  readonly #trees: TupleTrees;
  readonly #assembly: Assembly;
  readonly #components: ComponentLife;
  readonly #limits = new Map<string, number>();
  #ticks: readonly TickSource[] = [];
  #state: RunnerState = 'new';
  #killed = false;
  #drain: Drain | undefined;

  constructor(topology: Topology, options: RunnerOptions) {
    this.#clock = options.clock;
    this.#closeTimeoutMs = options.closeTimeoutMs ?? 5_000;
    this.#statistics = new Statistics(options.clock.nowMs());
    this.#reportProblem = problemReporter(this.#statistics.problems, options.onProblem);
    this.#trees = new TupleTrees({ ...topology, clock: options.clock, limit: MOST_LIVE_TREES });
    this.#assembly = assemble(topology, {
      clock: options.clock,
      random: options.random,
      steps: options.steps ?? new MicrotaskSteps(options.clock),
      trees: this.#trees,
      statistics: this.#statistics,
      watch: options.watch,
      reportProblem: this.#reportProblem,
      onTreeEnded: (tree, failure) => {
        if (failure !== undefined) options.onTreeFailed?.(failure);
        this.#drain?.treeEnded(tree, failure);
      },
      onTaskIdle: () => {
        this.#drain?.check();
      },
    });
    this.#components = new ComponentLife({
      clock: options.clock,
      trees: this.#trees,
      assembly: this.#assembly,
      windows: this.#statistics.windows,
      reportProblem: this.#reportProblem,
    });
  }

  /** Prepares the bolts, opens the spouts and takes in work. When one of them rejects, all are closed again. */
  async start(): Promise<void> {
    if (this.#state !== 'new') throw new Error(`the topology is ${this.#state}: a runner starts once`);
    this.#state = 'starting';
    try {
      await this.#components.open();
    } catch (error) {
      await this.#close(false);
      throw error;
    }
    if (this.#isEnding()) {
      // Ended meanwhile: what was opened after that is closed as well.
      if (!this.#killed) await this.#close(true);
      return;
    }
    this.#state = 'running';
    this.#ticks = this.#startTicks();
    this.#applyLimits();
  }

  /** Takes in nothing new while any reason is held; at once, also at the cap. In flight work completes. */
  pause(reason: string): void {
    this.limit(reason, 0);
  }

  /** Lets go of one reason. */
  resume(reason: string): void {
    this.limit(reason, Infinity);
  }

  /** At most so many pending trees a spout, for this reason; of several reasons the lowest counts. 0 is a pause. */
  limit(reason: string, mostPending: number): void {
    if (mostPending === Infinity) this.#limits.delete(reason);
    else this.#limits.set(reason, mostPending);
    this.#applyLimits();
  }

  get pauseReasons(): readonly string[] {
    return Array.from(this.#limits.keys()).filter((reason) => this.#limits.get(reason) === 0);
  }

  /**
   * Ends the work: stops delivery, starts no tree that no bolt has begun, lets the others settle for up to
   * `deadlineMs`, fails what is left (so that the spout gives it back), and closes. A second call ends at once.
   */
  drain(deadlineMs: number): Promise<DrainReport> {
    if (this.#killed) return Promise.reject(new Error('the topology was killed: nothing is left to drain'));
    if (this.#drain === undefined) {
      this.#state = 'draining';
      this.#drain = new Drain({
        clock: this.#clock,
        trees: this.#trees,
        assembly: this.#assembly,
        quiesce: () => this.#components.quiesce(),
        close: (urgent) => this.#close(urgent),
      });
      this.#drain.begin(deadlineMs);
    } else {
      this.#drain.endNow();
    }
    return this.#drain.report;
  }

  /** Ends at once: fails every tree as `shutdown`, and closes without waiting for running bolts. */
  abort(): Promise<DrainReport> {
    const report = this.drain(0);
    this.#drain?.endNow();
    return report;
  }

  /** Stops dead, as a crash would: nobody is told anything, nothing is closed. */
  kill(): void {
    this.#state = 'ended';
    this.#killed = true;
    for (const { task } of this.#assembly.spouts) task.fallSilent();
    this.#stopTasks();
    this.#trees.abandon();
    this.#drain?.abandon();
  }

  /** Exact figures over 10 minutes, 3 hours, a day and all time, and why each spout is idle. */
  statistics(): StatisticsReport {
    return reportStatistics({
      clock: this.#clock,
      statistics: this.#statistics,
      assembly: this.#assembly,
      trees: this.#trees,
      pauseReasons: this.pauseReasons,
    });
  }

  /** All trees that are alive, in no order: their age, and the bolt that has them. */
  pendingTrees(): PendingTree[] {
    const nowMs = this.#clock.nowMs();
    return Array.from(this.#trees, (tree) => ({
      spout: tree.owner.component,
      messageId: tree.messageId,
      ageMs: nowMs - tree.startedAtMs,
      remainingMs: this.#trees.remainingMs(tree),
      component: tree.lastPlace.component,
      task: tree.lastPlace.task,
      phase: tree.lastPhase,
    }));
  }

  #applyLimits(): void {
    if (this.#state !== 'running') return;
    const mostPending = Math.min(...this.#limits.values());
    for (const { task } of this.#assembly.spouts) {
      task.limitPending(mostPending);
      if (mostPending > 0) task.openIntake();
      else task.closeIntake();
    }
  }

  #startTicks(): TickSource[] {
    return this.#assembly.bolts.flatMap(({ declaration: { tickEveryMs }, tasks }) =>
      tickEveryMs === undefined
        ? []
        : tasks.map(({ task }) => new TickSource(this.#clock, task, tickEveryMs)),
    );
  }

  #isEnding(): boolean {
    return this.#state === 'draining' || this.#state === 'ended';
  }

  async #close(urgent: boolean): Promise<void> {
    this.#stopTasks();
    this.#trees.stop();
    await this.#components.close(
      urgent ? Math.min(this.#closeTimeoutMs, URGENT_CLOSE_MS) : this.#closeTimeoutMs,
    );
    this.#state = 'ended';
  }

  #stopTasks(): void {
    for (const tick of this.#ticks) tick.stop();
    for (const { tasks } of this.#assembly.bolts) for (const { task } of tasks) task.stop();
  }
}
