import type { Standing } from '../contest.ts';
import type { RuntimeFigures } from '../runtime/runtime-process.ts';
import type { BacklogFigures } from '../series/backlog.ts';
import type { InFlightFigure } from '../series/in-flight.ts';
import type { LatencyFigure } from '../series/latency.ts';
import type { LivesFigures } from '../series/lives.ts';
import type { TableFigures } from '../series/table.ts';
import type { WorkersFigure } from '../series/workers.ts';
import type { MachineFacts } from './machine.ts';

/** All that was measured; what was not asked for is not there. */
export interface Figures {
  readonly machine: MachineFacts;
  readonly contest: readonly Standing[];
  readonly runtime: RuntimeFigures | undefined;
  readonly backlog: BacklogFigures | undefined;
  readonly table: TableFigures | undefined;
  readonly workers: readonly WorkersFigure[] | undefined;
  readonly inFlight: readonly InFlightFigure[] | undefined;
  readonly latency: readonly LatencyFigure[] | undefined;
  readonly lives: LivesFigures | undefined;
}
