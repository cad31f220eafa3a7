/**
 * How things stand, from everything that can be reached: the database, the broker, and what the workers say of
 * themselves. What cannot be reached is named in `missing`, and the rest is shown.
 */
import type { IntakeControl, IntakeState } from '../ports/intake-control.ts';
import type { BookFigures, Overview, Unfinished } from '../ports/overview.ts';
import type { QueueDepth, QueueDepths } from '../ports/queue-depths.ts';
import type { WorkerRecord, WorkerReports } from '../ports/worker-reports.ts';
import { viewOfBooks, viewOfRate, type BooksView, type RateView } from './books.ts';
import type { IntakeView, QueueView, StatusView, WorkerView } from './status-view.ts';

export interface StatusSources {
  readonly intake: IntakeControl;
  readonly workers: WorkerReports;
  readonly overview: Overview;
  readonly queues: QueueDepths;
  /** Milliseconds since the epoch. */
  readonly nowMs: () => number;
}

/** Books change slowly and cost most. */
const BOOKS_EVERY_MS = 10_000;

/** Returns the function that looks; `booksOverMs`: the age of the oldest orders in the books. Never rejects. */
export function statusReader(sources: StatusSources, booksOverMs: number): () => Promise<StatusView> {
  let books: { readonly atMs: number; readonly sinceMs: number; readonly figures: BookFigures } | undefined;
  const lookAtBooks = async (nowMs: number) => {
    if (books !== undefined && nowMs - books.atMs < BOOKS_EVERY_MS) return books;
    const sinceMs = nowMs - booksOverMs;
    books = { atMs: nowMs, sinceMs, figures: await sources.overview.books(sinceMs) };
    return books;
  };

  return async () => {
    const nowMs = sources.nowMs();
    const [database, queues] = await Promise.all([
      attempt('database', async () => ({
        intake: await sources.intake.state(),
        workers: await sources.workers.list(),
        unfinished: await sources.overview.unfinished(),
        books: await lookAtBooks(nowMs),
      })),
      attempt('broker', () => sources.queues.look()),
    ]);
    const found = database.found;
    const parts = {
      intake: found && viewOfIntake(found.intake),
      workers: found?.workers,
      unfinished: found?.unfinished,
      books: found && viewOfBooks(found.books.figures, found.books.sinceMs),
      rate: found && viewOfRate(found.books.figures),
      queues: queues.found,
    };
    return { ...viewOf(parts, nowMs), missing: [...database.missing, ...queues.missing] };
  };
}

async function attempt<T>(what: string, ask: () => Promise<T>) {
  try {
    return { found: await ask(), missing: [] };
  } catch (error) {
    const why = error instanceof Error ? error.message : 'unknown trouble';
    return { found: undefined, missing: [`${what}: ${why}`] };
  }
}

interface Parts {
  readonly intake: IntakeView | undefined;
  readonly workers: readonly WorkerRecord[] | undefined;
  readonly unfinished: Unfinished | undefined;
  readonly books: BooksView | undefined;
  readonly rate: RateView | undefined;
  readonly queues: readonly QueueDepth[] | undefined;
}

function viewOf(parts: Parts, nowMs: number): Omit<StatusView, 'missing'> {
  const { books, intake, queues, rate, unfinished, workers } = parts;
  const living = workers?.filter(({ isAlive }) => isAlive);
  const status = unfinished?.byStatus;
  const countOf = (name: keyof Unfinished['byStatus']) => status && (status[name]?.count ?? 0);
  const unannounced = status && (countOf('ready-to-ship') ?? 0) + (countOf('denied') ?? 0);
  return {
    at: isoTime(nowMs),
    oldest: oldestOf(unfinished),
    queues: queues?.map(viewOfQueue) ?? null,
    inFlight: sumOf(living, ({ report }) => report.inFlight),
    ordersPerSecond: sumOf(living, ({ report }) => report.ordersPerSecond),
    authorizationRate: rate ?? null,
    unknown: countOf('authorization-unknown') ?? null,
    review: countOf('review') ?? null,
    parked: unfinished?.parked ?? null,
    unannounced: unannounced ?? null,
    overdueRetries: unfinished?.overdueRetries ?? null,
    books: books ?? null,
    intake: intake ?? null,
    workers: workers?.map(viewOfWorker) ?? null,
    alerts: alertsOf(parts),
  };
}

/** An order in review waits for a person, however long that takes. */
function oldestOf(unfinished: Unfinished | undefined): StatusView['oldest'] {
  const waiting = Object.entries(unfinished?.byStatus ?? {}).filter(([status]) => status !== 'review');
  const oldest = waiting.map(([status, { oldest: order }]) => ({ ...order, status }));
  return oldest.toSorted((one, other) => other.ageMs - one.ageMs)[0] ?? null;
}

function alertsOf({ books, intake, queues, workers }: Parts): string[] {
  const alerts: string[] = [];
  if (books?.balanced === false) alerts.push(`the books do not balance: ${books.because ?? ''}`);
  if (intake?.paused === true) alerts.push(pausedText(intake));
  if (workers !== undefined && !workers.some(({ isAlive }) => isAlive)) alerts.push('no worker is running');
  for (const { host, isAlive, pid, worker } of workers ?? []) {
    if (!isAlive)
      alerts.push(`worker ${worker} (${host}, process ${pid}) died; its claims are open to the others`);
  }
  for (const { report, worker } of workers?.filter(({ isAlive }) => isAlive) ?? []) {
    for (const { name, unavailableBecause } of report.dependencies) {
      if (unavailableBecause === null || name === 'operator') continue;
      alerts.push(`worker ${worker}: ${name}: ${unavailableBecause}`);
    }
  }
  for (const { problem, queue, role } of queues ?? []) {
    if (problem !== undefined && role === 'orders') alerts.push(`queue ${queue}: ${problem}`);
  }
  return alerts;
}

export function viewOfIntake({ isPaused, last }: IntakeState): IntakeView {
  return {
    paused: isPaused,
    by: last?.actor ?? null,
    since: last === undefined ? null : isoTime(last.atMs),
    reason: last?.reason ?? null,
  };
}

export function pausedText({ by, reason, since }: IntakeView): string {
  return `the intake is paused by ${by ?? 'somebody'} since ${since ?? 'some time'}: ${reason ?? ''}`;
}

function viewOfQueue({ consumers, problem, queue, ready, role }: QueueDepth): QueueView {
  return { role, queue, ready: ready ?? null, consumers: consumers ?? null, problem: problem ?? null };
}

function viewOfWorker({ seenAtMs, startedAtMs, ...worker }: WorkerRecord): WorkerView {
  return { ...worker, startedAt: isoTime(startedAtMs), seenAt: isoTime(seenAtMs) };
}

function sumOf(
  workers: readonly WorkerRecord[] | undefined,
  of: (worker: WorkerRecord) => number,
): number | null {
  if (workers === undefined) return null;
  return Math.round(workers.reduce((sum, worker) => sum + of(worker), 0) * 10) / 10;
}

function isoTime(atMs: number): string {
  return new Date(atMs).toISOString();
}
