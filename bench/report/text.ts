import type { Figures } from './figures.ts';
import type { Spread } from './spread.ts';
import type { Target } from './targets.ts';

/** The result for people: a table for each thing that was measured. */
export function asText(figures: Figures, targets: readonly Target[]): string {
  return [
    machineText(figures),
    contestTable(figures),
    runtimeText(figures),
    backlogTable(figures),
    tableTable(figures),
    workersTable(figures),
    inFlightTable(figures),
    latencyTable(figures),
    livesText(figures),
    targetsTable(targets),
  ]
    .filter((part) => part !== undefined)
    .join('\n\n')
    .concat('\n');
}

function machineText({ machine }: Figures): string {
  const { cores, cpu, memoryGb, kernel, node, rabbitmq, postgresql, fsync, synchronousCommit } = machine;
  return [
    `commit ${machine.commit}; ${cores} cores (${cpu}), ${memoryGb.toFixed(0)} GB, Linux ${kernel}; Node ${node},`,
    `RabbitMQ ${rabbitmq}, PostgreSQL ${postgresql} (fsync ${fsync}, synchronous_commit ${synchronousCommit});`,
    `${machine.fdatasyncsPerSecond.toFixed(0)} fdatasyncs/s${flushText(machine)}`,
  ].join('\n');
}

function flushText({ flushMs }: Figures['machine']): string {
  return flushMs === 0 ? '' : `, and each flush of the database's log ${flushMs} ms longer`;
}

function contestTable({ contest }: Figures): string | undefined {
  if (contest.length === 0) return undefined;
  return table(
    [
      'min / median / max of the rounds',
      'orders/s',
      'x limit',
      'x straightforward',
      'CPU ms/order',
      'of the machine',
      'MB',
    ],
    contest.map((standing) => [
      `${standing.contestant} (${standing.orders} orders)`,
      spread(standing.ordersPerSecond, 0),
      spread(standing.timesLimit, 2),
      spread(standing.timesStraightforward, 2),
      spread(standing.cpuMsPerOrder, 2),
      spread(standing.machineCpuMsPerOrder, 2),
      standing.peakRssMb.toFixed(0),
    ]),
  );
}

function runtimeText({ runtime }: Figures): string | undefined {
  if (runtime === undefined) return undefined;
  return table(
    ['the runtime alone', ''],
    [
      ['trees through the acker', `${(runtime.treesPerSecond / 1e6).toFixed(1)} M/s`],
      ['a pending tree in the acker', `${runtime.bytesPerPendingTree.toFixed(1)} bytes`],
      ['a tuple through two bolts', `${runtime.microsecondsPerTuple.toFixed(2)} us`],
    ],
  );
}

function backlogTable({ backlog }: Figures): string | undefined {
  if (backlog === undefined) return undefined;
  const { tenfold } = backlog;
  return table(
    ['backlog', 'orders/s', 'MB'],
    [
      [`${backlog.orders} orders`, spread(backlog.ordersPerSecond, 0), backlog.peakRssMb.toFixed(0)],
      [`${tenfold.orders} orders`, tenfold.ordersPerSecond.toFixed(0), tenfold.peakRssMb.toFixed(0)],
      ...tenfold.tenths.map(({ ordersPerSecond, peakRssMb }, tenth) => [
        `  tenth ${tenth + 1}`,
        ordersPerSecond.toFixed(0),
        peakRssMb.toFixed(0),
      ]),
    ],
  );
}

function tableTable({ table: figures }: Figures): string | undefined {
  if (figures === undefined) return undefined;
  return table(
    ['orders in the table before', 'orders/s', 'ratio'],
    [
      [String(figures.rows), spread(figures.ordersPerSecond, 0), ''],
      [String(figures.tenfold.rows), spread(figures.tenfold.ordersPerSecond, 0), spread(figures.ratio, 2)],
    ],
  );
}

function workersTable({ workers }: Figures): string | undefined {
  return (
    workers &&
    table(
      ['workers', 'orders/s', 'x one', 'CPU ms/order, together'],
      workers.map((figure) => [
        String(figure.workers),
        spread(figure.ordersPerSecond, 0),
        spread(figure.timesOne, 2),
        spread(figure.cpuMsPerOrder, 2),
      ]),
    )
  );
}

function inFlightTable({ inFlight }: Figures): string | undefined {
  return (
    inFlight &&
    table(
      ['in flight', 'orders', 'orders/s', 'CPU ms/order', 'MB'],
      inFlight.map((figure) => [
        String(figure.inFlight),
        String(figure.orders),
        spread(figure.ordersPerSecond, 0),
        spread(figure.cpuMsPerOrder, 2),
        figure.peakRssMb.toFixed(0),
      ]),
    )
  );
}

function latencyTable({ latency }: Figures): string | undefined {
  return (
    latency &&
    table(
      ['ms from intended start', 'orders/s', 'p50', 'p90', 'p99', 'p99.9', 'max', 'gateway p50', 'p99'],
      latency.map((figure) => [
        `${(figure.share * 100).toFixed(0)} % of the top rate`,
        figure.ordersPerSecond.toFixed(0),
        ...[
          figure.p50Ms,
          figure.p90Ms,
          figure.p99Ms,
          figure.p999Ms,
          figure.maxMs,
          figure.gatewayP50Ms,
          figure.gatewayP99Ms,
        ].map((ms) => ms.toFixed(1)),
      ]),
    )
  );
}

function livesText({ lives }: Figures): string | undefined {
  if (lives === undefined) return undefined;
  const { startMs, kill, outage } = lives;
  const back = outage.backAfterMs === null ? 'never' : `${outage.backAfterMs.toFixed(0)} ms`;
  return table(
    ['a life', ''],
    [
      ['from start to ready', `${spread(startMs, 0)} ms`],
      [
        `${kill.ordersInFlight} orders in flight at a kill, all decided after`,
        `${kill.decidedAfterMs.toFixed(0)} ms`,
      ],
      [
        `after ${outage.awayMs} ms without gateway, back to ${outage.ordersPerSecondBefore.toFixed(0)} orders/s in`,
        back,
      ],
    ],
  );
}

function targetsTable(targets: readonly Target[]): string {
  return table(
    ['targets', 'wanted', 'measured', ''],
    targets.map(({ what, unit, bound, wanted, measured, isMet }) => [
      what,
      `${bound} ${wanted} ${unit}`,
      measured === undefined ? '-' : `${measured.toFixed(2)} ${unit}`,
      isMet === undefined ? 'not measured' : isMet ? 'met' : `NOT MET by ${missedBy(wanted, measured)}`,
    ]),
  );
}

function missedBy(wanted: number, measured = NaN): string {
  return `${(Math.abs(1 - measured / wanted) * 100).toFixed(0)} %`;
}

function spread(values: Spread | undefined, digits: number): string {
  if (values === undefined) return '-';
  const [min, median, max] = [values.min, values.median, values.max].map((value) => value.toFixed(digits));
  return min === max ? (median ?? '') : `${min} / ${median} / ${max}`;
}

/** The first column to the left, the others to the right. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  const lines = all.map((row) =>
    row
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd(),
  );
  return lines.toSpliced(1, 0, '-'.repeat(lines[0]?.length ?? 0)).join('\n');
}
