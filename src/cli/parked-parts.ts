import type { Config } from '../config/config.ts';
import type { ParkedDiscards } from '../ports/parked-discards.ts';
import type { ParkedSearch } from '../ports/parked-search.ts';
import type { ReplayBatches } from '../ports/replay-batches.ts';
import type { ReplayBroker } from '../ports/replay-broker.ts';
import type { Clock } from '../topology/clock.ts';

type Opened<Part> = Part & { close(): Promise<void> };
type OfDatabase = Pick<Config, 'database'>;

/** What the commands about parked orders need; each part connects when it is first used. */
export interface ParkedParts {
  readonly openParkedSearch: (config: OfDatabase) => Opened<ParkedSearch>;
  readonly openParkedDiscards: (config: OfDatabase) => Opened<ParkedDiscards>;
  readonly openReplayBatches: (config: OfDatabase) => Opened<ReplayBatches>;
  /**
   * Publishes to `queue`. Rejects with a RetriableError of class `publisher_unavailable` when no broker answers within
   * five seconds.
   */
  readonly openReplayBroker: (config: Pick<Config, 'broker'>, queue: string) => Promise<Opened<ReplayBroker>>;
  readonly clock: Clock;
}
