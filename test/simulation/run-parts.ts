import type { SimulatedBroker } from './broker.ts';
import type { SimulatedDatabase } from './database.ts';
import type { SimulatedGateway } from './gateway.ts';
import type { SimulatedProcess } from './machine.ts';
import type { Monitor } from './monitor.ts';
import type { World } from './network.ts';
import type { SimulatedOrder } from './orders.ts';
import type { SupervisedWorker } from './worker.ts';

/** A run, as its faults and its judges see it. */
export interface RunParts extends World {
  readonly database: SimulatedDatabase;
  readonly broker: SimulatedBroker;
  readonly gateway: SimulatedGateway;
  readonly monitor: Monitor;
  readonly workers: readonly SupervisedWorker[];
  /** What upstream has published, and the broker confirmed. */
  readonly published: readonly Published[];
  kill(process: SimulatedProcess, vanishes?: boolean): void;
  startAgain(worker: SupervisedWorker): void;
}

export interface Published {
  readonly messageId: string;
  readonly order: SimulatedOrder;
  /** What the message says, which another message of the same id may contradict; undefined: it cannot be read. */
  readonly amountMinor: bigint | undefined;
}
