import { maskCardNumbers } from '../domain/card-numbers.ts';
import type { Availability } from '../ports/availability.ts';
import type { GatewayReport, PendingOrder, WorkerReport } from '../ports/worker-reports.ts';
import type { TreeFailure } from '../topology/spout.ts';
import type { PendingTree, TopologyRunner } from '../topology/runner.ts';

const MOST_ERRORS = 10;
/** So many classes and places are told apart; they are few, unless somebody makes them up. */
const MOST_ERROR_KINDS = 1_000;
const RATE_OVER_MS = 10_000;

/** Counts what failed tuple trees, by class and component. */
export class FailureCounts {
  readonly #counts = new Map<string, { errorClass: string; component: string; count: number }>();

  count({ errorClass, where: { component } }: TreeFailure): void {
    const kind = `${component}\n${errorClass}`;
    const known = this.#counts.get(kind);
    if (known !== undefined) known.count += 1;
    else if (this.#counts.size < MOST_ERROR_KINDS)
      this.#counts.set(kind, { errorClass, component, count: 1 });
  }

  mostFrequent(): WorkerReport['errors'] {
    const all = Array.from(this.#counts.values(), (each) => ({ ...each }));
    return all.sort((one, other) => other.count - one.count).slice(0, MOST_ERRORS);
  }
}

export interface ReportParts {
  readonly runner: Pick<TopologyRunner, 'pendingTrees' | 'statistics' | 'pauseReasons'>;
  readonly gateway: Availability;
  readonly gatewayName: string;
  readonly dependencies: readonly Availability[];
  readonly failures: FailureCounts;
  readonly state: () => string;
  /** Monotonic. */
  readonly nowMs: () => number;
}

/** Returns the function that says how the worker is now; it remembers a little, for the rate. */
export function workerReporter(parts: ReportParts): () => WorkerReport {
  const { dependencies, failures, gateway, gatewayName, nowMs, runner, state } = parts;
  const rate = recentRate();
  return () => {
    const { spouts } = runner.statistics();
    const pending = runner.pendingTrees();
    const endings = Object.values(spouts['orders']?.windows.all.streams ?? {});
    return {
      state: state(),
      inFlight: pending.length,
      oldest: oldestOf(pending),
      replaysWaiting: spouts['orders']?.idle.waitingReplays ?? 0,
      ordersPerSecond: rate(
        nowMs(),
        endings.reduce((sum, { acked }) => sum + acked, 0),
      ),
      gateways: [gatewayReport(gatewayName, gateway)],
      holds: runner.pauseReasons,
      dependencies: dependencies.map((dependency) => ({
        name: dependency.name,
        unavailableBecause: oneLine(dependency.unavailableBecause()),
      })),
      errors: failures.mostFrequent(),
    };
  };
}

function oldestOf(pending: readonly PendingTree[]): PendingOrder | null {
  const [first] = pending.toSorted((one, other) => other.ageMs - one.ageMs);
  if (first === undefined) return null;
  const { ageMs, component, messageId, phase, remainingMs } = first;
  return {
    orderId: messageId,
    ageMs: Math.round(ageMs),
    remainingMs: Math.round(remainingMs),
    component,
    phase,
  };
}

function gatewayReport(name: string, gateway: Availability): GatewayReport {
  const because = oneLine(gateway.unavailableBecause());
  const most = gateway.mostInWork?.() ?? (because === null ? Infinity : 0);
  const mostInWork = Number.isFinite(most) ? most : null;
  if (because !== null) return { name, valve: most > 0 ? 'probing' : 'stopped', mostInWork, because };
  return { name, valve: mostInWork === null ? 'flowing' : 'opening', mostInWork, because };
}

function oneLine(text: string | undefined): string | null {
  return text === undefined ? null : maskCardNumbers(text.slice(0, 500).replace(/[\p{Cc}\p{Cs}]/gu, ' '));
}

/** How fast a total grows, in a second, over about the last ten seconds. */
function recentRate(): (nowMs: number, total: number) => number {
  let readings: { readonly atMs: number; readonly total: number }[] = [];
  return (atMs, total) => {
    readings.push({ atMs, total });
    const before = readings.findLast((reading) => atMs - reading.atMs >= RATE_OVER_MS) ?? readings[0];
    if (before === undefined) return 0;
    readings = readings.slice(readings.indexOf(before));
    const spanMs = atMs - before.atMs;
    return spanMs > 0 ? Math.round(((total - before.total) / spanMs) * 10_000) / 10 : 0;
  };
}
