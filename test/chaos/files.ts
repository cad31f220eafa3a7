/**
 * The evidence of a run: files in one folder, written by those who saw it, each as JSON lines unless said otherwise.
 *
 *     ledger.ndjson     the gateway, before it answers (src/simulator/ledger.ts)
 *     requests.ndjson   the gateway: what it was asked (src/simulator/request-log.ts)
 *     journal.ndjson    the publisher: each try to publish, and how it ended
 *     receipts.ndjson   downstream: each announcement it received
 *     wire.ndjson       the proxies in front of the broker: deliveries, settlements and copies of orders
 *     database.ndjson   every row of the schema when all was over
 *     parked.ndjson     the parking lot when all was over
 *     queues.ndjson     how many messages were left on which queue
 *     blows.ndjson      the nemesis: what befell whom, when
 *     operators.ndjson  the operators: each command, and what it came to
 *     orphans.ndjson    messages that the broker had given to consumers that were gone, see orphans.ts
 *     probes.ndjson     what was tried in the end and must be refused
 *     exits.ndjson      the supervisors: how each life of a worker ended
 *     vitals.ndjson     the workers of a soak, of themselves (vitals-process.ts)
 *     worker-<n>.log    what the workers printed; operator-<n>.log, what a command did
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export type EvidenceFile =
  | 'ledger'
  | 'requests'
  | 'journal'
  | 'receipts'
  | 'wire'
  | 'database'
  | 'parked'
  | 'queues'
  | 'blows'
  | 'operators'
  | 'orphans'
  | 'probes'
  | 'vitals'
  | 'exits';

export function pathOf(folder: string, file: EvidenceFile): string {
  return join(folder, `${file}.ndjson`);
}

export function record(folder: string, file: EvidenceFile, ...entries: readonly object[]): void {
  if (entries.length === 0) return;
  appendFileSync(pathOf(folder, file), entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
}

/** All entries of a file; none when there is none. A last line that was cut off by a kill is left out. */
export function entriesOf<T>(folder: string, file: EvidenceFile): T[] {
  const path = pathOf(folder, file);
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as T);
}
