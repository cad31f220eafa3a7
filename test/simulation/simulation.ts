/**
 * One run: a world of upstream, broker, database, gateway and downstream, two workers in it, a time of faults, then
 * healing, then quiet, then the books. Everything of the workers is the real thing (app.ts and all that it builds),
 * but for the drivers of the broker and the database and the gateway's dialect.
 *
 * The same plan gives the same run, event by event.
 */
import type { Outside } from '../../src/app.ts';
import { nextBelow, nextFraction, seededRandom, type RandomSource } from '../../src/topology/random.ts';
import { levelQueueOf, parkedQueueOf } from '../../src/adapters/rabbitmq/declare.ts';
import { SimulatedBroker } from './broker.ts';
import { SimulatedDatabase } from './database.ts';
import { plannedFaults, randomFaults, type Fault, type Faults } from './faults.ts';
import { SimulatedGateway, type Fate } from './gateway.ts';
import { endInvariants } from './invariants.ts';
import { START_WALL_MS, type SimulatedProcess } from './machine.ts';
import { Monitor } from './monitor.ts';
import { IntakeSwitch } from './intake-switch.ts';
import { GOES_ON_AFTER_MS, Operators } from './operators.ts';
import type { AlterOperator, OperatorOutside } from './operator-ports.ts';
import { booksOf, reconciledTwice } from './operator-invariants.ts';
import { ProcessLogs } from './process-log.ts';
import { recorderOf } from './recorder.ts';
import { Replays } from './replays.ts';
import type { RunParts } from './run-parts.ts';
import { makeOrders, type SimulatedOrder } from './orders.ts';
import { Upstream, type Published } from './upstream.ts';
import { settingsOf } from './versions.ts';
import { SimulatedTime } from './time.ts';
import { fullTrace, NO_TRACE } from './trace.ts';
import {
  KEY_WINDOW_MS,
  LEVELS_MS,
  NAMES,
  SupervisedWorker,
  type Alter,
  type WorkerSettings,
} from './worker.ts';
import { strike } from './world-faults.ts';

export interface RunOptions {
  /** Decides orders, settings, latencies and, unless there is a plan, the faults. */
  readonly seed: number;
  readonly orders?: number | undefined;
  readonly workers?: number | undefined;
  /** What the issuer says to all of them; any of its answers without it. */
  readonly fate?: Fate | undefined;
  /** How all workers are set; by the seed without it. */
  readonly settings?: WorkerSettings | undefined;
  /** After which everything works again; by the seed without it. */
  readonly faultyForMs?: number | undefined;
  /** More of operators' commands, and in every run. */
  readonly areOperatorsBusy?: boolean;
  /** The faults; random ones without it. */
  readonly plan?: readonly Fault[] | undefined;
  readonly keepTrace?: boolean;
  /** A planted bug. */
  readonly alter?: Alter | undefined;
  /** One of the operators' commands. */
  readonly alterOperator?: AlterOperator | undefined;
}

export interface Violation {
  /** `I1` to `I16`, or what else must not happen. */
  readonly invariant: string;
  readonly what: string;
  readonly atMs: number;
}

export interface RunResult {
  readonly seed: number;
  readonly violations: readonly Violation[];
  /** What went wrong in the world, as a plan that does the same again. */
  readonly struck: readonly Fault[];
  readonly calls: Faults['calls'];
  readonly orders: number;
  readonly kills: number;
  readonly events: number;
  readonly simulatedMs: number;
  readonly edges: ReadonlyMap<string, number>;
  readonly errorClasses: ReadonlyMap<string, number>;
  /** What operators' commands came to: `resolve: done`, ... */
  readonly commands: ReadonlyMap<string, number>;
  /** Of what happened, in its order. */
  readonly trace: readonly string[];
}

/** A key lives longer at the gateway than any request under it can be on its way. */
const RETENTION_MS = KEY_WINDOW_MS + 180_000;
const OLDEST_KEY_MS = KEY_WINDOW_MS + 100_000;
const QUIET_WITHIN_MS = 3_600_000;
const SLICE_MS = 1_000;
/** Longer than a look of the resolver, and than whatever is left to be done takes when the world has healed. */
const STAYS_QUIET_MS = 6_000;
/** Requests of no importance are always under way. */
const JUST_SENT_MS = 50;
const SHORTLY_QUIET_MS = 1_000;

export async function simulate(options: RunOptions): Promise<RunResult> {
  const run = new Run(options);
  await run.live();
  return run.result();
}

class Run implements RunParts {
  readonly time = new SimulatedTime();
  readonly random: RandomSource;
  readonly faults: Faults;
  readonly trace;
  readonly database: SimulatedDatabase;
  readonly broker: SimulatedBroker;
  readonly gateway: SimulatedGateway;
  readonly monitor: Monitor;
  readonly workers: readonly SupervisedWorker[];
  readonly operators: Operators;
  readonly replays = new Replays();
  readonly intake: IntakeSwitch;
  readonly #upstream: Upstream;
  readonly #logs = new ProcessLogs(this);
  readonly #options: RunOptions;
  readonly #orders: readonly SimulatedOrder[];
  readonly #faultyForMs: number;
  readonly #violations: Violation[] = [];
  readonly #stopped = new Set<SimulatedProcess>();
  #kills = 0;
  #isOver = false;

  constructor(options: RunOptions) {
    const { seed, keepTrace = false, plan } = options;
    this.#options = options;
    const scenario = seededRandom(seed);
    this.random = seededRandom(seed + 0x1_0000_0000);
    this.trace = keepTrace ? fullTrace() : NO_TRACE;
    const count = 4 + nextBelow(scenario, 10);
    const drawnMs = 5_000 + nextFraction(scenario) ** 2 * 75_000;
    this.#faultyForMs = options.faultyForMs ?? drawnMs;
    const drawn = settingsOf(options.workers ?? 2, scenario);
    const settings = drawn.map((each) => options.settings ?? each);
    const searchLagMs = nextFraction(scenario) * 60_000;
    // The last to be drawn, so that a run with fewer of them is otherwise the same.
    const withinMs = Math.min(10_000, this.#faultyForMs);
    this.#orders = makeOrders(options.orders ?? count, withinMs, scenario, options.fate);
    this.faults =
      plan === undefined
        ? randomFaults(seededRandom(seed + 0x2_0000_0000), this.#faultyForMs, options)
        : plannedFaults(plan);

    const fates = new Map(this.#orders.map(({ orderId, fate }) => [orderId, fate]));
    this.database = new SimulatedDatabase(this);
    this.broker = new SimulatedBroker(this, {
      ...NAMES,
      parked: parkedQueueOf(NAMES.prefix),
      levels: new Map(LEVELS_MS.map((ms) => [levelQueueOf(NAMES.prefix, NAMES.orders, ms), ms])),
    });
    this.gateway = new SimulatedGateway(this, {
      retentionMs: RETENTION_MS,
      searchLagMs,
      fateOf: (orderId) => fates.get(orderId) ?? 'approved',
    });
    const { broker, database, gateway } = this;
    this.#upstream = new Upstream(this, broker);
    this.intake = new IntakeSwitch(database.tables.audit, () => START_WALL_MS + this.time.nowMs);
    this.monitor = new Monitor(this, {
      broker,
      database,
      gateway,
      intake: this.intake,
      replays: this.replays,
      keyWindowMs: KEY_WINDOW_MS,
      keyUsedForMs: OLDEST_KEY_MS,
    });
    const around = {
      world: this,
      database,
      broker,
      gateway,
      intake: this.intake,
      monitor: this.monitor,
      logs: this.#logs,
      alter: options.alter ?? ((outside: Outside) => outside),
      randomSeed: () => this.random.next32(),
    };
    this.workers = settings.map((each, at) => new SupervisedWorker(`worker${at + 1}`, each, around));
    this.operators = new Operators(this, {
      logs: this.#logs,
      alter: options.alterOperator ?? ((outside: OperatorOutside) => outside),
      randomSeed: seed + 0x3_0000_0000,
      publishAgain: (orderId) => {
        const amountMinor = database.tables.orders.get(orderId)?.amount_minor ?? '';
        this.#upstream.publishReopened(orderId, amountMinor);
      },
    });
    if (this.#hasOperators) this.monitor.onParked = recorderOf(this);
  }

  get #hasOperators(): boolean {
    return this.faults.timed.some(({ site }) => site === 'operator');
  }

  /** When the last of those begins that are planned. */
  get #lastCommandMs(): number {
    const commands = this.faults.timed.filter(({ site }) => site === 'operator');
    return Math.max(0, ...commands.map(({ atMs = 0 }) => atMs + GOES_ON_AFTER_MS));
  }

  get published(): readonly Published[] {
    return this.#upstream.published;
  }

  async live(): Promise<void> {
    for (const worker of this.workers) worker.start();
    this.#upstream.begin(this.#orders);
    for (const fault of this.faults.timed) strike(this, fault);
    await this.#pass(this.#faultyForMs);
    this.#heal();
    await this.#untilQuiet(STAYS_QUIET_MS);
    if (this.#hasOperators) await this.#cleanUp();
    await this.#drainAll();
    for (const { invariant, what } of endInvariants(this)) this.violated(invariant, what);
    this.#isOver = true;
  }

  result(): RunResult {
    return {
      seed: this.#options.seed,
      violations: this.#violations,
      struck: this.faults.struck,
      calls: this.faults.calls,
      orders: this.#orders.length,
      kills: this.#kills,
      events: this.time.events,
      simulatedMs: this.time.nowMs,
      edges: this.database.tables.edges,
      errorClasses: this.#logs.errorClasses,
      commands: this.operators.results,
      trace: this.trace.lines,
    };
  }

  // --- what the world does to processes ----------------------------------------------------------------------------

  kill(process: SimulatedProcess, vanishes = false): void {
    if (!process.isAlive) return;
    if (!process.isOperator) this.#kills += 1;
    this.trace.note(this.time.nowMs, process.name, () => (vanishes ? 'vanishes' : 'is killed'));
    const worker = this.workers.find((one) => one.process === process);
    process.kill(vanishes);
    if (worker === undefined) return;
    worker.buried();
    this.startAgain(worker);
  }

  startAgain(worker: SupervisedWorker): void {
    if (this.#isOver) return;
    this.time.after(20 + nextFraction(this.random) * 1_500, () => {
      if (worker.process === undefined && !this.#isOver) worker.start();
    });
  }

  stop(process: SimulatedProcess, ms: number): void {
    if (!process.isAlive || process.isStopped) return;
    this.trace.note(this.time.nowMs, process.name, () => `is stopped for ${ms} ms`);
    process.stop();
    this.#stopped.add(process);
    this.time.quietlyAfter(ms, () => {
      this.#stopped.delete(process);
      process.goOn();
    });
  }

  violated(invariant: string, what: string): void {
    this.trace.note(this.time.nowMs, 'VIOLATION', () => `${invariant}: ${what}`);
    this.#violations.push({ invariant, what, atMs: this.time.nowMs });
  }

  // --- the phases --------------------------------------------------------------------------------------------------

  async #pass(untilMs: number): Promise<void> {
    await this.time.run(untilMs, () => false);
  }

  #heal(): void {
    const { broker, database, gateway, time } = this;
    this.trace.note(time.nowMs, 'world', () => 'heals');
    this.faults.heal();
    for (const away of [broker, database, gateway]) away.awayUntilMs = time.nowMs;
    broker.unboundUntilMs = time.nowMs;
    gateway.misconfiguredUntilMs = time.nowMs;
    gateway.rateLimitedUntilMs = time.nowMs;
    if (broker.isBlocked) {
      broker.blockedUntilMs = time.nowMs;
      broker.unblockLater();
    }
    for (const process of this.#stopped) process.goOn();
    this.#stopped.clear();
  }

  /** What operators do once everything works again, so that nothing is left to them that could be done. */
  async #cleanUp(): Promise<void> {
    const { operators } = this;
    for (const { commandId } of this.database.parked.batches.values()) operators.begin('go on', commandId, 0);
    await this.#untilQuiet(SHORTLY_QUIET_MS);
    for (const kind of ['replay', 'resolve', 'last reconcile'] as const) {
      operators.begin(kind, operators.newId(), 0);
      if (kind === 'resolve') operators.sendReopenedAgain();
      await this.#untilQuiet(SHORTLY_QUIET_MS);
    }
    const before = booksOf(this);
    operators.begin('last reconcile', operators.newId(), 0);
    await this.#untilQuiet(STAYS_QUIET_MS);
    for (const { invariant, what } of reconciledTwice(before, this)) this.violated(invariant, what);
  }

  async #untilQuiet(staysQuietMs: number): Promise<void> {
    const endMs = this.time.nowMs + QUIET_WITHIN_MS;
    // Still quiet after a while: something may have been on its way.
    for (let quietForMs = 0; quietForMs < staysQuietMs; quietForMs += SLICE_MS) {
      if (this.time.nowMs >= endMs) {
        this.violated('quiet', this.#restlessness());
        return;
      }
      await this.#pass(this.time.nowMs + SLICE_MS);
      if (!this.#isQuiet()) quietForMs = -SLICE_MS;
    }
    this.trace.note(this.time.nowMs, 'world', () => 'is quiet');
  }

  #restlessness(): string {
    const { ready, unacked } = this.broker.depth;
    const attempts = [...this.database.tables.attempts.values()];
    const due = attempts.filter((attempt) => attempt.resolve_due_at_ms !== null).length;
    const left = `${ready} ready, ${unacked} unacked, ${this.broker.waiting} in levels, ${due} unresolved`;
    return `not quiet ${QUIET_WITHIN_MS / 60_000} min after everything healed: ${left}`;
  }

  #isQuiet(): boolean {
    const { ready, unacked } = this.broker.depth;
    const { time } = this;
    if (time.nowMs <= Math.max(time.lateUntilMs - JUST_SENT_MS, this.#lastCommandMs)) return false;
    if (this.operators.areAtWork || this.intake.isPaused) return false;
    if (this.#upstream.toPublish + ready + unacked + this.broker.waiting > 0) return false;
    for (const { isEnding, process } of this.workers)
      if (isEnding || process === undefined || process.isStopped) return false;
    for (const attempt of this.database.tables.attempts.values()) {
      if (attempt.resolve_due_at_ms !== null) return false;
    }
    return true;
  }

  async #drainAll(): Promise<void> {
    this.#isOver = true;
    const beganAtMs = this.time.nowMs;
    let left = this.workers.length;
    const ended: SimulatedProcess[] = [];
    for (const worker of this.workers) {
      worker.terminate((process) => {
        left -= 1;
        ended.push(process);
      });
    }
    await this.time.run(beganAtMs + DRAIN_WITHIN_MS, () => left === 0);
    if (left > 0) this.violated('I12', 'a worker with nothing to do does not end within 10 s');
    await this.#pass(this.time.nowMs + SETTLING_MS);
    for (const { name, timers } of ended) {
      if (timers > 0) this.violated('I12', `${name} has ended with ${timers} timers left`);
    }
  }
}

const DRAIN_WITHIN_MS = 10_000;
/** Longer than it takes broker and database to notice that a machine is gone. */
const SETTLING_MS = 25_000;
