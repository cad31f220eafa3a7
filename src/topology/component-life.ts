import type { Assembly, BoltUnit } from './assembly.ts';
import { basicExecution } from './basic-execution.ts';
import type { Clock } from './clock.ts';
import type { Execution } from './execution.ts';
import type { ReportProblem } from './problems.ts';
import { richCollector, richExecution } from './rich-execution.ts';
import type { RollingWindows } from './rolling-windows.ts';
import { Settlement } from './settlement.ts';
import type { AnyBolt } from './topology.ts';
import type { TupleTrees } from './tuple-trees.ts';

interface Closable {
  readonly component: string;
  readonly during: string;
  readonly quiesce?: () => Promise<void>;
  readonly close: () => Promise<void> | void;
}

/**
 * Opens a topology's bolts and spouts, and closes what was opened: bolts are prepared before the spouts open, and
 * cleaned up before the spouts close. A component that does not close within its time, or throws, is reported and
 * left behind.
 */
export class ComponentLife {
  readonly #clock: Clock;
  readonly #trees: TupleTrees;
  readonly #assembly: Assembly;
  readonly #windows: RollingWindows;
  readonly #reportProblem: ReportProblem;
  #preparedBolts: Closable[] = [];
  #openedSpouts: Closable[] = [];

  constructor(parts: {
    clock: Clock;
    trees: TupleTrees;
    assembly: Assembly;
    windows: RollingWindows;
    reportProblem: ReportProblem;
  }) {
    this.#clock = parts.clock;
    this.#trees = parts.trees;
    this.#assembly = parts.assembly;
    this.#windows = parts.windows;
    this.#reportProblem = parts.reportProblem;
  }

  /** Rejects with what the first component rejects with; `close` then closes those before it. */
  async open(): Promise<void> {
    for (const bolt of this.#assembly.bolts) await this.#prepareTasks(bolt);
    for (const { declaration, task } of this.#assembly.spouts) {
      const { id, spout } = declaration;
      this.#openedSpouts.push({
        component: id,
        during: 'spout.close',
        quiesce: () => spout.quiesce(),
        close: () => spout.close(),
      });
      await spout.open({ component: id, task: task.task }, task);
    }
  }

  /** Stops the delivery of the spouts that were opened. */
  async quiesce(): Promise<void> {
    await Promise.all(
      this.#openedSpouts.map(async ({ component, quiesce }) => {
        try {
          await quiesce?.();
        } catch (error) {
          this.#reportProblem({ component, during: 'spout.quiesce', error });
        }
      }),
    );
  }

  async close(timeoutMs: number): Promise<void> {
    const bolts = this.#preparedBolts;
    const spouts = this.#openedSpouts;
    this.#preparedBolts = [];
    this.#openedSpouts = [];
    await Promise.all(bolts.map((bolt) => this.#closeInTime(bolt, timeoutMs)));
    await Promise.all(spouts.map((spout) => this.#closeInTime(spout, timeoutMs)));
  }

  async #prepareTasks({ declaration, counters, tasks }: BoltUnit): Promise<void> {
    for (const { task, outlets } of tasks) {
      const bolt = declaration.create();
      const settlement = new Settlement({
        clock: this.#clock,
        trees: this.#trees,
        counters,
        windows: this.#windows,
        outlets,
      });
      this.#preparedBolts.push({
        component: declaration.id,
        during: 'cleanup',
        close: () => bolt.cleanup?.(),
      });
      task.begin(await this.#prepare(bolt, settlement, { component: declaration.id, task: task.task }));
    }
  }

  async #prepare(
    bolt: AnyBolt,
    settlement: Settlement,
    context: { component: string; task: number },
  ): Promise<Execution> {
    if (bolt.kind === 'basic') {
      await bolt.prepare?.(context);
      return basicExecution(bolt, settlement);
    }
    await bolt.prepare(context, richCollector(settlement, this.#trees));
    return richExecution(bolt, settlement);
  }

  async #closeInTime({ component, during, close }: Closable, timeoutMs: number): Promise<void> {
    try {
      await withinTime(this.#clock, timeoutMs, `"${component}" did not finish ${during}`, close);
    } catch (error) {
      this.#reportProblem({ component, during, error });
    }
  }
}

async function withinTime(
  clock: Clock,
  timeoutMs: number,
  complaint: string,
  work: () => Promise<void> | void,
): Promise<void> {
  let onTimeout: () => void = () => undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    onTimeout = () => {
      reject(new Error(`${complaint} within ${timeoutMs} ms; it is left behind`));
    };
  });
  const timer = clock.setTimer(timeoutMs, onTimeout);
  try {
    await Promise.race([work(), timeout]);
  } finally {
    timer.cancel();
  }
}
