/**
 * Operators at work beside the workers: each command is a process of its own, which may be killed, stopped or left
 * without an answer like any other. What they do is the code behind the command line, over the ports of
 * operator-ports.ts; commands.ts has what each kind of them does.
 */
import { seededRandom, type RandomSource } from '../../src/topology/random.ts';
import { RetriableError } from '../../src/topology/errors.ts';
import type { OperatorCommand } from '../../src/domain/audit.ts';
import { COMMANDS, type CommandKind, type CommandRun } from './commands.ts';
import type { Fault } from './faults.ts';
import { SimulatedProcess } from './machine.ts';
import { operatorPorts, type AlterOperator } from './operator-ports.ts';
import type { ProcessLogs } from './process-log.ts';
import type { RunParts } from './run-parts.ts';

export interface OperatorSurroundings {
  readonly logs: ProcessLogs;
  readonly alter: AlterOperator;
  readonly randomSeed: number;
  /** Upstream sends a reopened order again. */
  readonly publishAgain: (orderId: string) => void;
}

/** How long after a killed replay somebody takes it up. */
export const GOES_ON_AFTER_MS = 1_000;

const PAUSED_FOR_MS = 10_000;

export class Operators {
  /** `resolve: done`, ...: what commands came to, and how often. */
  readonly results = new Map<string, number>();
  /** Commands that were begun. */
  starts = 0;
  readonly #run: RunParts;
  readonly #around: OperatorSurroundings;
  readonly #random: RandomSource;
  readonly #atWork = new Set<SimulatedProcess>();

  constructor(run: RunParts, around: OperatorSurroundings) {
    this.#run = run;
    this.#around = around;
    this.#random = seededRandom(around.randomSeed);
  }

  get areAtWork(): boolean {
    return this.#atWork.size > 0;
  }

  /** Of a plan, at its time. */
  act({ kind, ms, nth }: Fault): void {
    if (kind === 'pause') {
      this.#pause(ms);
      return;
    }
    const commandId = this.newId();
    switch (kind) {
      case 'replay-by-two':
        this.begin('replay', commandId, nth);
        this.begin('replay', commandId, nth);
        break;
      case 'replay-killed': {
        const process = this.begin('replay', commandId, nth);
        this.#run.time.quietlyAfter(ms % 300, () => {
          this.#run.kill(process);
        });
        this.#run.time.quietlyAfter(GOES_ON_AFTER_MS, () => this.begin('go on', commandId, nth));
        break;
      }
      default:
        this.begin(kind as CommandKind, commandId, nth);
    }
  }

  begin(kind: CommandKind, commandId: string, nth: number): SimulatedProcess {
    const run = this.#run;
    this.starts += 1;
    const process = new SimulatedProcess(`operator${this.starts}`, run.time, true);
    const random = seededRandom(this.#random.next32());
    this.#atWork.add(process);
    process.onKill(() => {
      if (this.#atWork.delete(process)) run.replays.troubles += 1;
    });
    run.trace.note(run.time.nowMs, process.name, () => `begins: ${kind}`);
    process.later(0, () => {
      void this.#perform(process, random, { kind, commandId, nth });
    });
    return process;
  }

  /** A UUID. */
  newId(): string {
    const hex = Array.from({ length: 4 }, () => this.#random.next32().toString(16).padStart(8, '0')).join('');
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  }

  async #perform(
    process: SimulatedProcess,
    random: RandomSource,
    {
      kind,
      commandId,
      nth,
    }: { readonly kind: CommandKind; readonly commandId: string; readonly nth: number },
  ): Promise<void> {
    const run = this.#run;
    const { outside, close } = operatorPorts(run, process, random, this.#around.logs.of(process));
    const command: CommandRun = {
      ...this.#around.alter(outside, run),
      run,
      clock: process,
      nth,
      newId: () => this.newId(),
      command: (action): OperatorCommand => ({ commandId, actor: process.name, action, reason: 'simulated' }),
      publishAgain: (orderId) => {
        this.#around.publishAgain(orderId);
      },
      came: (to) => {
        this.count(`${kind}: ${to}`);
      },
    };
    try {
      await COMMANDS[kind](command);
      this.count(`${kind}: ended`);
    } catch (error) {
      if (!(error instanceof RetriableError)) run.violated('bug', `${kind}: ${String(error)}`);
      run.trace.note(run.time.nowMs, process.name, () => `gives up: ${String(error)}`);
      run.replays.troubles += 1;
      this.count(`${kind}: gave up`);
    }
    await close();
    this.#atWork.delete(process);
    process.kill();
  }

  /** A command may have died between reopening an order and sending it again. */
  sendReopenedAgain(): void {
    for (const {
      order_id: orderId,
      status,
      status_reason: reason,
    } of this.#run.database.tables.orders.values()) {
      if (status === 'received' && reason === 'reopened') this.#around.publishAgain(orderId);
    }
  }

  count(result: string): void {
    this.results.set(result, (this.results.get(result) ?? 0) + 1);
  }

  /** Of the intake of all workers. */
  #pause(ms: number): void {
    const { intake, time } = this.#run;
    intake.pause(this.newId());
    this.count('pause: ended');
    time.after(ms + PAUSED_FOR_MS, () => {
      intake.resume(this.newId());
    });
  }
}
