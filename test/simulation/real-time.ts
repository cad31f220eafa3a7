import { seededRandom } from '../../src/topology/random.ts';
import type { Faults } from './faults.ts';
import { SimulatedProcess } from './machine.ts';
import type { World } from './network.ts';
import { SimulatedTime } from './time.ts';
import { NO_TRACE } from './trace.ts';

/** Simulated time for tests that wait by themselves: it goes on by a millisecond with every turn of the event loop. */
export class RealTime {
  readonly time = new SimulatedTime();
  #isStopped = false;

  constructor() {
    void this.#goOn();
  }

  process(name: string): SimulatedProcess {
    return new SimulatedProcess(name, this.time);
  }

  stop(): void {
    this.#isStopped = true;
  }

  async #goOn(): Promise<void> {
    while (!this.#isStopped) {
      await this.time.run(this.time.nowMs + 1, () => false);
      await nextTurn();
    }
  }
}

/** A world without workers, in which whatever is violated is thrown. */
export function worldIn({ time }: RealTime, faults: Faults): World {
  return {
    time,
    faults,
    random: seededRandom(7),
    trace: NO_TRACE,
    kill: (process) => {
      process.kill();
    },
    stop: (process) => {
      process.stop();
    },
    violated: (invariant, what) => {
      throw new Error(`${invariant}: ${what}`);
    },
  };
}

export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
