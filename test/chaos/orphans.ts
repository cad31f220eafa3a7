/**
 * A fault of the broker that no worker can mend. When the leader of a quorum queue dies while a consumer that was just
 * cancelled dies, too, the new leader may keep the consumer, with the messages that it had: nobody has them, and nobody
 * gets them (seen on RabbitMQ 3.10.8; https://github.com/rabbitmq/rabbitmq-server/issues/15473). The next leader gives
 * them out again, so an administrator moves the leader; here its node is restarted.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { record } from './files.ts';
import { WORK_QUEUES, type Stage } from './stage.ts';

/** A line of orphans.ndjson. */
export interface Orphans {
  readonly atMs: number;
  readonly queue: string;
  readonly messages: number;
}

/** Queues and channels are not counted in the same moment: what is orphaned stays so. */
const LOOKS = 3;
const LOOK_EVERY_MS = 1_000;

/** To be called when nothing moves any more. Whether there were any. */
export async function freeOrphans(stage: Stage): Promise<boolean> {
  const { cluster, folder } = stage;
  for (let look = 0; look < LOOKS; look += 1) {
    if ((await orphaned(stage)) <= 0) return false;
    await sleep(LOOK_EVERY_MS);
  }
  const queues = await cluster.queues();
  for (const { name: queue, messages: all, ready } of queues) {
    const messages = all - ready;
    if (messages === 0 || !WORK_QUEUES.includes(queue)) continue;
    record(folder, 'orphans', { atMs: Date.now(), queue, messages } satisfies Orphans);
    const leader = await cluster.leaderOf(queue);
    await leader.stop();
    await leader.start();
    await cluster.allBack(queue);
  }
  return true;
}

async function orphaned({ cluster }: Stage): Promise<number> {
  const queues = await cluster.queues();
  const unsettled = queues.reduce((sum, { messages, ready }) => sum + messages - ready, 0);
  return unsettled - (await cluster.unsettledByChannels());
}
