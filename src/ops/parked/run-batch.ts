/**
 * Works on a batch: publishes what waits in it, in order and at its rate, and marks each member once the broker has
 * confirmed it. Killed in between, the next run publishes again what was confirmed and not marked, under the same message
 * id; the claim absorbs it.
 *
 * What a member leads to is asked once more, of the database, right before it is published: days may have passed since
 * the list was frozen.
 */
import { isTaken } from '../../domain/replay-plan.ts';
import type { FoundParked, ParkedSearch } from '../../ports/parked-search.ts';
import type { ReplayBatch, ReplayBatches, Settlement } from '../../ports/replay-batches.ts';
import type {
  ReplayBroker,
  ReplayMessage,
  UnsealedMessage,
  UnsealedQueue,
} from '../../ports/replay-broker.ts';
import type { Clock } from '../../topology/clock.ts';
import { pause } from '../../topology/clock.ts';
import { Marks } from './marks.ts';
import { Pace } from './pace.ts';
import { judged, type JudgedParked } from './selection.ts';

export interface BatchParts {
  readonly batches: ReplayBatches;
  readonly search: ParkedSearch;
  /** Opened when the first message is to be published: what only closes rows needs no broker. */
  readonly openBroker: () => Promise<ReplayBroker>;
  /** Opens a sealed body; undefined when no key of ours does, or when there is none. */
  readonly openBody: (jwe: string) => Promise<Uint8Array | undefined>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Settled so far in this run. */
  readonly onProgress: (settled: number) => void;
}

/** `interrupted` and `stopped` leave it to be resumed by its id. */
export type BatchEnd = 'done' | 'interrupted' | 'cancelled' | 'stopped';

const PAGE_LENGTH = 200;

/** To be called under the batch's hold. Rejects, with the batch left to be resumed, when a service cannot be used. */
export async function runBatch(batch: ReplayBatch, parts: BatchParts): Promise<BatchEnd> {
  const { batches } = parts;
  const { batchId } = batch;
  if (batch.state === 'stopped') await batches.resume(batchId);
  const run = new BatchRun(batch, parts);
  try {
    await run.publishRows();
    await run.publishUnsealed();
  } finally {
    await run.settleRest();
  }
  const end = run.end ?? 'done';
  if (end === 'done') await batches.finish(batchId);
  if (end === 'cancelled') await batches.release(batchId);
  return end;
}

class BatchRun {
  /** undefined: nothing speaks against going on. */
  end: BatchEnd | undefined;
  readonly #batch: ReplayBatch;
  readonly #parts: BatchParts;
  readonly #pace: Pace;
  readonly #marks: Marks;
  #broker: ReplayBroker | undefined;

  constructor(batch: ReplayBatch, parts: BatchParts) {
    this.#batch = batch;
    this.#parts = parts;
    this.#pace = new Pace(parts.clock, batch.messagesPerSecond);
    this.#marks = new Marks(batch, parts);
  }

  // --- messages in their rows --------------------------------------------------------------------------------------

  async publishRows(): Promise<void> {
    const { batches } = this.#parts;
    for (let after = 0; this.#goesOn();) {
      const members = await batches.waiting(this.#batch.batchId, after, PAGE_LENGTH);
      const last = members.at(-1);
      if (last === undefined) return;
      after = last.number;
      await this.#publishPage(members.map(({ parkId }) => parkId));
    }
  }

  async #publishPage(parkIds: readonly string[]): Promise<void> {
    const planned = await this.#planned(parkIds);
    const inRows = planned.filter(({ found, plan }) => isToPublish(plan) && found.replayFrom === 'row');
    const messages = await this.#messagesOf(inRows.map(({ found }) => found));
    for (const one of planned) {
      if (!this.#goesOn()) return;
      const { found, plan } = one;
      if (!isToPublish(plan)) await this.#marks.add(found.parkId, withoutPublishing(one));
      else if (found.replayFrom === 'row') {
        const opened = messages.get(found.parkId);
        const body = opened && (await this.#parts.openBody(opened.sealedBody));
        if (opened === undefined || body === undefined) await this.#marks.add(found.parkId, UNOPENED);
        else await this.#publish(found.parkId, { ...opened, body }, plan.action);
      }
    }
  }

  async #messagesOf(found: readonly FoundParked[]) {
    if (found.length === 0) return new Map<string, never>();
    const messages = await this.#parts.search.messages(found.map(({ parkId }) => parkId));
    return new Map(messages.map((message) => [message.parkId, message]));
  }

  /** In the order of the batch. */
  async #planned(parkIds: readonly string[]): Promise<readonly JudgedParked[]> {
    const page = await this.#parts.search.find({ states: ['replaying'], parkIds, limit: PAGE_LENGTH });
    const byId = new Map(page.rows.map((found) => [found.parkId, judged(found, page, this.#batch)]));
    return parkIds.flatMap((parkId) => byId.get(parkId) ?? []);
  }

  // --- messages on the queue of unsealed ones ----------------------------------------------------------------------

  /** Whatever still waits is there, in the queue's order. */
  async publishUnsealed(): Promise<void> {
    if (!this.#goesOn()) return;
    await this.#marks.flush();
    const wanted = await this.#allWaiting();
    if (wanted.size === 0) return;
    const hold = await this.#holdUnsealedQueue();
    if (hold === undefined) return;
    try {
      await this.#walk(wanted);
    } finally {
      await hold.release();
    }
    if (!this.#goesOn()) return;
    for (const parkId of wanted) await this.#marks.add(parkId, NOT_THERE);
  }

  /** Takes from `wanted` what it meets. */
  async #walk(wanted: Set<string>): Promise<void> {
    const broker = await this.#openBroker();
    const queue = await broker.openUnsealedQueue();
    const walk: Walk = { wanted, met: new Map(), others: [] };
    try {
      for (let isAtEnd = false; !isAtEnd && this.#goesOn();) {
        const some = await takeSome(queue);
        isAtEnd = some.length < PAGE_LENGTH;
        await this.#publishMet(some, walk);
      }
      await this.#marks.flush();
      if (this.#goesOn()) await this.#sweep(walk.others);
      for (const parkId of walk.met.keys()) wanted.delete(parkId);
    } finally {
      await queue.close();
    }
  }

  async #publishMet(some: readonly UnsealedMessage[], { wanted, met, others }: Walk): Promise<void> {
    const parkIds = new Set(some.flatMap(({ parkId }) => parkId ?? []));
    const ours = [...parkIds].filter((parkId) => wanted.has(parkId));
    const planned = new Map((await this.#planned(ours)).map((one) => [one.found.parkId, one]));
    for (const one of some) {
      const { parkId } = one;
      const plannedOne = parkId === undefined ? undefined : planned.get(parkId);
      if (parkId === undefined || !wanted.has(parkId)) others.push(one);
      else if (plannedOne !== undefined) {
        if (!this.#goesOn()) return;
        // A second copy goes the way of the first.
        if (!met.has(parkId)) met.set(parkId, await this.#publishUnsealedOne(plannedOne, one.message));
        void met.get(parkId)?.isClosed.then((isClosed) => {
          if (isClosed) one.settle();
        });
      }
    }
  }

  async #publishUnsealedOne({ found, plan, verdict }: JudgedParked, message: ReplayMessage): Promise<Met> {
    const met = { isClosed: this.#marks.whenMarked(found.parkId) };
    if (isToPublish(plan)) await this.#publish(found.parkId, message, plan.action);
    else await this.#marks.add(found.parkId, withoutPublishing({ found, plan, verdict }));
    return met;
  }

  /** Copies whose rows are closed: of a crash, or of what was discarded. Nobody will want them. */
  async #sweep(others: readonly UnsealedMessage[]): Promise<void> {
    for (let at = 0; at < others.length; at += PAGE_LENGTH) {
      const some = others.slice(at, at + PAGE_LENGTH);
      const parkIds = some.flatMap(({ parkId }) => parkId ?? []);
      const closed = await this.#parts.search.find({
        states: ['replayed', 'discarded'],
        parkIds: parkIds.filter((parkId) => UUID.test(parkId)),
        limit: PAGE_LENGTH,
      });
      const ids = new Set(closed.rows.map(({ parkId }) => parkId));
      for (const one of some) if (one.parkId !== undefined && ids.has(one.parkId)) one.settle();
    }
  }

  async #allWaiting(): Promise<Set<string>> {
    const all = new Set<string>();
    for (let after = 0; ;) {
      const members = await this.#parts.batches.waiting(this.#batch.batchId, after, PAGE_LENGTH);
      const last = members.at(-1);
      if (last === undefined) return all;
      after = last.number;
      for (const { parkId } of members) all.add(parkId);
    }
  }

  /** Whoever walks the queue has everybody's messages for so long. undefined: it is no longer wanted. */
  async #holdUnsealedQueue() {
    const { batches, clock } = this.#parts;
    while (this.#goesOn()) {
      const hold = await batches.holdUnsealedQueue();
      if (hold !== undefined) return hold;
      await pause(clock, LOOK_AGAIN_MS);
    }
    return undefined;
  }

  // --- both --------------------------------------------------------------------------------------------------------

  /** Resolves when it is on its way. */
  async #publish(parkId: string, message: ReplayMessage, leadsTo: string): Promise<void> {
    await this.#pace.turn(this.#parts.signal);
    await this.#marks.room();
    if (!this.#goesOn()) return;
    const broker = await this.#openBroker();
    this.#marks.afterConfirm(parkId, broker.publish(message), { as: 'published', detail: leadsTo });
  }

  async #openBroker(): Promise<ReplayBroker> {
    this.#broker ??= await this.#parts.openBroker();
    return this.#broker;
  }

  #goesOn(): boolean {
    this.end ??= this.#marks.end ?? (this.#parts.signal.aborted ? 'interrupted' : undefined);
    return this.end === undefined;
  }

  /** Waits for what is on its way, and marks it. Rejects with what ended the publishing. */
  async settleRest(): Promise<void> {
    await this.#marks.flush();
    this.#goesOn();
  }
}

interface Walk {
  readonly wanted: Set<string>;
  readonly met: Map<string, Met>;
  readonly others: UnsealedMessage[];
}

interface Met {
  /** Whether its row is closed; pending until that is written. */
  readonly isClosed: Promise<boolean>;
}

async function takeSome(queue: UnsealedQueue): Promise<UnsealedMessage[]> {
  const some: UnsealedMessage[] = [];
  while (some.length < PAGE_LENGTH) {
    const one = await queue.take();
    if (one === undefined) break;
    some.push(one);
  }
  return some;
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const LOOK_AGAIN_MS = 500;

const UNOPENED = {
  as: 'left',
  detail: 'its body is sealed, and no key of CARDAUTH_CARD_KEY opens it',
} as const;
const NOT_THERE = {
  as: 'left',
  detail: 'its message is not on the queue of unsealed messages',
} as const;

type Planned = JudgedParked['plan'];

function isToPublish(plan: Planned): plan is { readonly action: 'authorize' | 'announce' | 'ask-gateway' } {
  return isTaken(plan) && plan.action !== 'close';
}

function withoutPublishing({ plan }: JudgedParked): Omit<Settlement, 'parkId'> {
  return 'advice' in plan
    ? { as: 'left', detail: `${plan.action}: ${plan.advice}` }
    : { as: 'closed', detail: 'decided and announced: there was nothing to do' };
}
