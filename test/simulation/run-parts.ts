import type { SimulatedBroker } from './broker.ts';
import type { SimulatedDatabase } from './database.ts';
import type { SimulatedGateway } from './gateway.ts';
import type { Fault } from './faults.ts';
import type { IntakeSwitch } from './intake-switch.ts';
import type { SimulatedProcess } from './machine.ts';
import type { Monitor } from './monitor.ts';
import type { World } from './network.ts';
import type { Replays } from './replays.ts';
import type { Published } from './upstream.ts';
import type { SupervisedWorker } from './worker.ts';

/** A run, as its faults and its judges see it. */
export interface RunParts extends World {
  readonly database: SimulatedDatabase;
  readonly broker: SimulatedBroker;
  readonly gateway: SimulatedGateway;
  readonly monitor: Monitor;
  readonly workers: readonly SupervisedWorker[];
  readonly operators: {
    /** Commands that were begun. */
    readonly starts: number;
    /** What a plan has them do, now. */
    act(command: Fault): void;
  };
  readonly replays: Replays;
  readonly intake: IntakeSwitch;
  /** What upstream has published, and the broker confirmed. */
  readonly published: readonly Published[];
  kill(process: SimulatedProcess, vanishes?: boolean): void;
  startAgain(worker: SupervisedWorker): void;
}

/** An invariant that does not hold in the end. */
export interface Broken {
  readonly invariant: string;
  readonly what: string;
}
