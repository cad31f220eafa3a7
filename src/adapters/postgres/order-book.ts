/**
 * The system of record in PostgreSQL.
 *
 * A disk makes a few hundred commits a second durable, whatever they hold. So facts that are brought at about the same
 * time share one: they wait in a queue, and at most two group commits run at once, each with as many facts as have
 * gathered, up to a limit.
 *
 *     apply -> fact-queue -> commit-facts -> group-commit -> decision
 *
 * While the database cannot be used nothing is taken from the queue: database-watch probes until it can. Every
 * `apply` is answered by its deadline, also when the database accepts and never answers; whether the fact was
 * recorded is unknown then, and it is safe to bring it again.
 */
import { operatorCommand, type OperatorCommand } from '../../domain/audit.ts';
import { INQUIRY_WAITS_MS, type OrderFact } from '../../domain/order-states.ts';
import type { OrderId } from '../../domain/order.ts';
import type { SoftDeclineRetry } from '../../domain/soft-declines.ts';
import type { Availability } from '../../ports/availability.ts';
import type { Log } from '../../ports/log.ts';
import type { AppliedFact, OrderBook } from '../../ports/order-book.ts';
import type { Clock } from '../../topology/clock.ts';
import { RetriableError } from '../../topology/errors.ts';
import { commitFacts } from './commit-facts.ts';
import { pgDriver, POINT_ACCESS_SETTINGS, type ConnectionOptions, type Driver } from './connection.ts';
import { fromDatabase, unusable } from './database-error.ts';
import { DatabaseWatch } from './database-watch.ts';
import { FactQueue } from './fact-queue.ts';
import type { Result } from './group-commit.ts';
import { RecentOrders } from './recent-orders.ts';
import { databaseProblem } from './schema-problem.ts';
import { WaitingFact } from './waiting-fact.ts';
import { WorkerSession } from './worker-session.ts';

/** Facts in one commit; the statement stays below a few hundred kilobytes. */
const MOST_FACTS_PER_COMMIT = 256;
const MOST_COMMITS_AT_ONCE = 2;
/** Beyond this, somebody changes the order faster than it can be decided. */
const MOST_TIMES_OVERTAKEN = 50;

export interface OrderBookOptions {
  readonly databaseUrl: string;
  /** For how long a claim is respected while its owner lives. */
  readonly leaseMs: number;
  /** How long after its first use an idempotency key may be sent again. */
  readonly keyWindowMs: number;
  /** Waits before the inquiries of an order without a verdict; INQUIRY_WAITS_MS unless given. */
  readonly inquiryWaitsMs?: readonly number[];
  /** Whether and when soft declines are tried again; never unless given. */
  readonly softDeclineRetry?: SoftDeclineRetry | undefined;
  /** By when every `apply` is answered; 5000 unless given. */
  readonly deadlineMs?: number;
  readonly clock: Clock;
  readonly log: Log;
  /** `pg` unless given. */
  readonly driver?: Driver | undefined;
}

export function createOrderBook(options: OrderBookOptions): PostgresOrderBook {
  return new PostgresOrderBook(options);
}

export class PostgresOrderBook implements OrderBook {
  readonly #options: OrderBookOptions;
  readonly #deadlineMs: number;
  readonly #database: ReturnType<Driver['openPool']>;
  readonly #session: WorkerSession;
  readonly #watch: DatabaseWatch;
  readonly #queue = new FactQueue();
  readonly #recent: RecentOrders;
  #commits = 0;
  #commitIsDue = false;
  /** Called when the last fact is answered; set while closing. */
  #whenEmpty: (() => void) | undefined;
  #closed: Promise<void> | undefined;

  /** Throws when the URL cannot be read; connects to nothing yet. */
  constructor(options: OrderBookOptions) {
    const { databaseUrl, clock, log, deadlineMs = 5_000, driver = pgDriver } = options;
    const connection: ConnectionOptions = {
      databaseUrl,
      applicationName: 'cardauth worker',
      wallMs: deadlineMs,
    };
    this.#options = options;
    this.#deadlineMs = deadlineMs;
    this.#recent = new RecentOrders(clock);
    this.#database = driver.openPool({
      ...connection,
      connections: MOST_COMMITS_AT_ONCE,
      settings: POINT_ACCESS_SETTINGS,
      log,
    });
    this.#watch = new DatabaseWatch({ probe: () => this.#probe(), clock, log });
    this.#session = new WorkerSession({
      connection,
      driver,
      clock,
      log,
      onLost: (why) => {
        this.#watch.reportTrouble(why);
      },
    });
    this.#watch.onChange(() => {
      this.#commitSoon();
    });
  }

  get availability(): Availability {
    return this.#watch;
  }

  /** Number of the worker session; undefined while there is none. */
  get worker(): number | undefined {
    return this.#session.worker;
  }

  /** Connects, and keeps trying for as long as it takes; `availability` says how that goes. */
  start(): void {
    this.#watch.start();
  }

  /** Throws a RangeError on a command that is none. */
  apply(orderId: OrderId, fact: OrderFact, command?: OperatorCommand): Promise<AppliedFact> {
    if (this.#whenEmpty !== undefined) return Promise.reject(unusable('the order book is closing'));
    const waiting = new WaitingFact({ orderId, fact, command: command && operatorCommand(command) });
    waiting.expireAfter(this.#options.clock, this.#deadlineMs, () => this.#late(waiting));
    this.#queue.add(waiting);
    this.#commitSoon();
    return waiting.answered;
  }

  /**
   * Takes no more facts, waits for the answers to those it has, for `deadlineMs` at the most, rejects the rest, gives
   * the worker session back and disconnects. A second call waits for the first one.
   */
  close({ deadlineMs }: { readonly deadlineMs: number }): Promise<void> {
    this.#closed ??= this.#close(deadlineMs);
    return this.#closed;
  }

  async #close(deadlineMs: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const deadline = this.#options.clock.setTimer(deadlineMs, resolve);
      this.#whenEmpty = () => {
        deadline.cancel();
        resolve();
      };
      if (this.#queue.isEmpty) this.#whenEmpty();
    });
    this.#watch.stop();
    for (const fact of this.#queue.drain()) fact.answer(unusable('the order book was closed'));
    await Promise.all([this.#session.close(), this.#database.close()]);
  }

  // --- from the queue into commits ---------------------------------------------------------------------------------

  /** After what has already arrived was processed: facts that it brings share the commit. */
  #commitSoon(): void {
    if (this.#commitIsDue) return;
    this.#commitIsDue = true;
    this.#options.clock.defer(() => {
      this.#commitIsDue = false;
      this.#startCommits();
    });
  }

  #startCommits(): void {
    while (this.#commits < MOST_COMMITS_AT_ONCE && this.#watch.unavailableBecause() === undefined) {
      const { worker } = this.#session;
      if (worker === undefined) return;
      const facts = this.#queue.take(MOST_FACTS_PER_COMMIT);
      if (facts.length === 0) break;
      void this.#commit(facts, worker);
    }
    if (this.#queue.isEmpty) this.#whenEmpty?.();
  }

  async #commit(facts: readonly WaitingFact[], worker: number): Promise<void> {
    this.#commits += 1;
    try {
      const { inquiryWaitsMs = INQUIRY_WAITS_MS } = this.#options;
      const terms = { ...this.#options, inquiryWaitsMs, worker };
      const answers = await commitFacts(this.#database, facts, terms, this.#recent);
      facts.forEach((fact, index) => {
        this.#answer(fact, answers[index] ?? 'overtaken');
      });
    } catch (error) {
      const trouble = fromDatabase(error);
      for (const fact of facts) this.#answer(fact, trouble);
      this.#watch.reportTrouble(trouble.message);
    } finally {
      this.#commits -= 1;
      this.#commitSoon();
    }
  }

  #answer(fact: WaitingFact, answer: Result | Error): void {
    if (answer === 'overtaken' && fact.timesOvertaken < MOST_TIMES_OVERTAKEN) {
      fact.timesOvertaken += 1;
      this.#queue.giveBack(fact, true);
      return;
    }
    this.#queue.giveBack(fact);
    this.#raiseAlarm(fact, answer);
    const restless = `order ${fact.orderId} is changed by others all the time`;
    fact.answer(answer === 'overtaken' ? unusable(restless) : answer);
  }

  /** Here and nowhere else, so that no alarm depends on who brought the fact; it is in the order's history as well. */
  #raiseAlarm({ orderId, fact }: WaitingFact, answer: Result | Error): void {
    if (answer === 'overtaken' || answer instanceof Error || answer.alarm === undefined) return;
    const { alarm } = answer;
    this.#options.log.error({ orderId, alarm, step: fact.kind }, 'alarm: a person should look at this order');
  }

  #late({ orderId, fact }: WaitingFact): Error {
    const why = this.#watch.unavailableBecause() ?? 'the database has not answered';
    const message = `order ${orderId}: '${fact.kind}' was not recorded within ${this.#deadlineMs} ms: ${why}`;
    return new RetriableError(message, { errorClass: 'database' });
  }

  // --- whether the database can be used ----------------------------------------------------------------------------

  async #probe(): Promise<string | undefined> {
    try {
      const problem = await databaseProblem(this.#database);
      if (problem === undefined) await this.#session.open();
      return problem;
    } catch (error) {
      return fromDatabase(error).message;
    }
  }
}
