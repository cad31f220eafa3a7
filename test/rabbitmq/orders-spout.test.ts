import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import {
  OrdersSpout,
  type OrdersSpoutOptions,
  type OrderStreams,
} from '../../src/adapters/rabbitmq/orders-spout.ts';
import type { Delivery } from '../../src/adapters/rabbitmq/delivery.ts';
import type { OrderMessage } from '../../src/ports/message.ts';
import type { ParkedOrder } from '../../src/ports/parking-lot.ts';
import type { VirtualClock } from '../../src/topology/testing/virtual-clock.ts';
import type { SpoutCollector } from '../../src/topology/spout.ts';
import { failure, pass, scriptedScene, settled, silentLog } from './scene.ts';

interface OrderValues {
  readonly message: OrderMessage;
  readonly [field: string]: unknown;
}

describe('the orders spout', () => {
  it('emits what was delivered and acks it when its tree is complete', async () => {
    const { channel, emitted, spout } = await consuming();
    channel().deliver('A');
    assert.deepEqual(emitted(), ['orders A']);
    assert.deepEqual(channel().acked, []);
    spout.ack('A');
    assert.deepEqual(channel().acked, [1]);
    spout.ack('A');
    assert.deepEqual(channel().acked, [1]);
  });

  it('asks for as many as may be pending and held, each to be acked', async () => {
    const { channel } = await consuming({ maxSpoutPending: 8, mostHeld: 3 });
    assert.equal(channel().prefetched, 11);
  });

  it('keeps what does not fit under the cap, in order', async () => {
    const { channel, collector, emitted, spout } = await consuming();
    collector.cap = 1;
    for (const id of ['A', 'B', 'C']) channel().deliver(id);
    assert.deepEqual(emitted(), ['orders A']);
    spout.ack('A');
    collector.end('A');
    assert.deepEqual(emitted(), ['orders A', 'orders B']);
  });

  it('lets a copy of a live order wait for the first outcome, and then run', async () => {
    const { channel, collector, emitted, spout } = await consuming();
    channel().deliver('A');
    channel().deliver('A');
    assert.deepEqual(emitted(), ['orders A']);
    spout.ack('A');
    collector.end('A');
    assert.deepEqual(emitted(), ['orders A', 'orders A']);
    spout.ack('A');
    assert.deepEqual(channel().acked, [1, 2]);
  });

  it('holds a short wait in process and counts the attempt', async () => {
    const { channel, clock, emitted, fail, values } = await consuming();
    channel().deliver('A');
    fail('A');
    await pass(clock, 1_000);
    assert.deepEqual(emitted(), ['orders A', 'orders A']);
    assert.equal(values().message.attempt, 1);
    assert.deepEqual(channel().givenBack, []);
  });

  it('moves a longer wait to a level, and acks only after the copy is confirmed', async () => {
    const { channel, copies, fail } = await consuming();
    channel().deliver('A', { 'cardauth-attempt': 2 });
    fail('A', { retryAfterMs: 60_000, errorClass: 'no_answer' });
    assert.deepEqual(
      copies.sent.map(({ delivery, waitMs }) => [delivery.message.attempt, waitMs, delivery.failedAs]),
      [[3, 60_000, 'no_answer']],
    );
    assert.deepEqual(channel().acked, []);
    copies.sent[0]?.confirm();
    await settledMicrotasks();
    assert.deepEqual(channel().acked, [1]);
  });

  it('moves a short wait too when too many are held', async () => {
    const { channel, copies, fail } = await consuming({ mostHeld: 1 });
    for (const id of ['A', 'B']) channel().deliver(id);
    fail('A');
    fail('B');
    assert.deepEqual(
      copies.sent.map(({ delivery }) => delivery.message.body.toString()),
      ['B'],
    );
  });

  it('holds an order whose copy cannot be published', async () => {
    const { channel, clock, copies, emitted, fail } = await consuming();
    channel().deliver('A');
    fail('A', { retryAfterMs: 60_000 });
    copies.sent[0]?.refuse();
    await pass(clock, 30_000);
    assert.deepEqual(emitted(), ['orders A', 'orders A']);
    assert.deepEqual([channel().acked, channel().givenBack], [[], []]);
  });

  it('lets due replays and fresh orders take turns, and holds no more than its share', async () => {
    const { channel, clock, collector, copies, emitted, fail } = await consuming({ mostHeld: 3 });
    for (const id of ['A', 'B', 'C', 'D']) channel().deliver(id);
    for (const id of ['A', 'B', 'C', 'D']) fail(id);
    assert.equal(copies.sent.length, 1, 'the fourth does not fit');
    collector.cap = 0;
    for (const id of ['E', 'F', 'G']) channel().deliver(id);
    await pass(clock, 1_000);
    assert.equal(emitted().length, 4);
    collector.cap = 1;
    for (let turn = 0; turn < 6; turn++) {
      collector.wake();
      const last = collector.emitted.at(-1)?.messageId ?? '';
      collector.live.delete(last);
    }
    const turns = emitted()
      .slice(4)
      .map((each) => ('orders E orders F orders G'.includes(each) ? 'fresh' : 'replay'));
    assert.equal(turns.length, 6);
    for (const place of [0, 2]) assert.notEqual(turns[place], turns[place + 1], turns.join(' '));
  });

  it('says which retry copies came back, each time they come', async () => {
    const returned: string[] = [];
    const { channel } = await consuming({ onReturned: (copyId) => void returned.push(copyId) });
    const copyId = '6f1f7c0e-9d2c-4a3f-8a51-0e7f7a4b9c11';
    channel().deliver('A', { 'cardauth-copy-id': copyId });
    channel().deliver('A', { 'cardauth-copy-id': copyId });
    for (const value of ['x', 7, undefined]) channel().deliver('B', { 'cardauth-copy-id': value });
    assert.deepEqual(returned, [copyId, copyId]);
  });

  it('tries to move again, without any haste, while too many are held', async () => {
    const { channel, clock, copies, fail } = await consuming({ mostHeld: 1 });
    for (const id of ['A', 'B']) {
      channel().deliver(id);
      fail(id, { retryAfterMs: 60_000 });
    }
    for (const copy of copies.sent) copy.refuse();
    await pass(clock, 4_900);
    assert.equal(copies.sent.length, 2);
    await pass(clock, 200);
    assert.equal(copies.sent.length, 3);
    copies.sent[2]?.confirm();
    await settled(clock);
    assert.deepEqual([channel().acked, channel().givenBack], [[2], []]);
  });

  it('gives an order back that was here for too long and cannot be moved', async () => {
    const { channel, clock, copies, fail } = await consuming();
    channel().deliver('A');
    await pass(clock, 600_000);
    fail('A');
    copies.sent[0]?.refuse();
    await settled(clock);
    assert.deepEqual(channel().givenBack, [1]);
  });

  it('emits on `exhausted` when no replay is left, and acks what the parking bolt acked', async () => {
    const { channel, emitted, fail, spout, values } = await consuming();
    channel().deliver('A', { 'cardauth-attempt': 3 });
    fail('A');
    assert.deepEqual(emitted(), ['orders A', 'exhausted A']);
    assert.match(String(values()['exhaustedBecause']), /^3 replays since .*authorize.*database, explicit$/);
    spout.ack('A');
    assert.deepEqual(channel().acked, [1]);
  });

  it('never gives up on an exhausted order that could not be parked', async () => {
    const { channel, clock, copies, emitted, fail, spout } = await consuming();
    channel().deliver('A', { 'cardauth-attempt': 3 });
    fail('A');
    fail('A');
    await pass(clock, 5_000);
    assert.deepEqual(emitted(), ['orders A', 'exhausted A', 'exhausted A']);
    fail('A', { retryAfterMs: 60_000 });
    const copy = copies.sent[0]?.delivery;
    assert.ok(copy?.exhaustedBecause);
    copies.sent[0]?.confirm();
    await settled(clock);
    channel().deliver('A', { 'cardauth-attempt': 5, 'cardauth-exhausted': copy.exhaustedBecause });
    assert.equal(emitted().at(-1), 'exhausted A');
    spout.ack('A');
    assert.deepEqual(channel().acked, [1, 2]);
  });

  it('gives a delivery back when the topology shuts down', async () => {
    const { channel, fail } = await consuming();
    channel().deliver('A');
    fail('A', { reason: 'shutdown' });
    assert.deepEqual([channel().acked, channel().givenBack], [[], [1]]);
  });

  it('parks unread what the scheme throws on, and acks it once that worked', async () => {
    const { channel, clock, emitted, parked } = await consuming();
    parked.refusals = 1;
    channel().deliver('throw');
    await settled(clock);
    assert.deepEqual(channel().acked, []);
    await pass(clock, 5_000);
    assert.deepEqual([parked.orders.at(-1)?.reason, parked.orders.at(-1)?.readable], ['worker_error', false]);
    assert.deepEqual([channel().acked, emitted()], [[1], []]);
  });

  describe('when its channel dies', () => {
    it('settles nothing of it on the next channel, where another order has the same tag', async () => {
      const { channel, clock, spout } = await consuming();
      channel().deliver('A');
      channel().die('reset');
      await pass(clock, 200);
      assert.equal(channel().deliver('B'), 1);
      spout.ack('A');
      assert.deepEqual([channel().acked, channel().givenBack], [[], []]);
      assert.equal(spout.counts.stale, 1);
      spout.ack('B');
      assert.deepEqual(channel().acked, [1]);
    });

    it('lets the redelivered copy wait for the tree that goes on', async () => {
      const { channel, clock, collector, emitted, spout } = await consuming();
      channel().deliver('A');
      channel().die('reset');
      await pass(clock, 200);
      channel().deliver('A');
      assert.deepEqual(emitted(), ['orders A']);
      spout.ack('A');
      collector.end('A');
      assert.deepEqual(emitted(), ['orders A', 'orders A']);
    });

    it('hands attempt and wait of a tree that fails on to the redelivered copy', async () => {
      const { channel, clock, emitted, fail, spout, values } = await consuming();
      channel().deliver('A', { 'cardauth-attempt': 1 });
      channel().die('reset');
      await pass(clock, 200);
      channel().deliver('A', { 'cardauth-attempt': 1 });
      fail('A');
      assert.deepEqual(emitted(), ['orders A']);
      await pass(clock, 1_000);
      assert.deepEqual(emitted(), ['orders A', 'orders A']);
      assert.equal(values().message.attempt, 2);
      spout.ack('A');
      assert.deepEqual(channel().acked, [1]);
    });

    it('forgets a tree that fails when no copy came here', async () => {
      const { channel, clock, copies, emitted, fail, spout } = await consuming();
      for (const id of ['A', 'B']) channel().deliver(id);
      channel().die('reset');
      fail('A');
      fail('B', { retryAfterMs: 60_000 });
      await pass(clock, 70_000);
      assert.deepEqual(emitted(), ['orders A', 'orders B']);
      assert.equal(copies.sent.length, 0);
      assert.equal(spout.idleReason().waitingReplays, 0);
    });

    it('forgets what was waiting', async () => {
      const { channel, clock, collector, emitted, fail } = await consuming();
      channel().deliver('held');
      fail('held');
      collector.cap = 0;
      channel().deliver('fresh');
      channel().die('reset');
      collector.cap = 10;
      await pass(clock, 2_000);
      assert.deepEqual(emitted(), ['orders held']);
    });

    it('acks no original whose copy was confirmed too late, and lets its redelivery run', async () => {
      const { channel, clock, copies, emitted, fail } = await consuming();
      channel().deliver('A');
      fail('A', { retryAfterMs: 60_000 });
      channel().die('reset');
      await pass(clock, 200);
      channel().deliver('A');
      copies.sent[0]?.confirm();
      await settled(clock);
      assert.deepEqual(channel().acked, []);
      assert.deepEqual(emitted(), ['orders A', 'orders A']);
    });
  });

  it('consumes again after the broker cancelled the consumer, and readiness says so meanwhile', async () => {
    const { broker, channel, clock, spout } = await consuming();
    channel().consumer?.(null);
    await settledMicrotasks();
    assert.match(spout.availability.unavailableBecause() ?? '', /cancelled the consumer/);
    await pass(clock, 200);
    assert.equal(broker.connection.channels.length, 2);
    assert.equal(spout.availability.unavailableBecause(), undefined);
    channel().deliver('B');
    spout.ack('B');
    assert.deepEqual(channel().acked, [1]);
  });

  it('gives a channel up whose calls are not answered', async () => {
    const { broker, channel, clock, spout } = await consuming();
    const silent = channel();
    silent.silentOn.add('cancel');
    spout.deactivate();
    await pass(clock, 10_200);
    assert.equal(silent.isClosed, true);
    assert.equal(broker.connection.channels.length, 2);
    assert.equal(channel().consumer, undefined);
  });

  it('gives the connection up when not even the closing of a channel is answered', async () => {
    const { broker, channel, clock, spout } = await consuming();
    channel().silentOn.add('cancel').add('close');
    channel().deliver('A');
    spout.deactivate();
    await pass(clock, 20_000);
    assert.equal(broker.connections.length, 2);
    spout.activate();
    await settled(clock);
    channel().deliver('B');
    spout.ack('A');
    spout.ack('B');
    assert.deepEqual(channel().acked, [1]);
    assert.equal(spout.counts.stale, 1);
  });

  it('gives the connection up when closing a channel is not answered', async () => {
    const { broker, channel, clock, spout } = await consuming();
    channel().silentOn.add('close');
    channel().consumer?.(null);
    await pass(clock, 5_500);
    assert.equal(broker.connections.length, 2);
    assert.equal(spout.availability.unavailableBecause(), undefined);
    channel().deliver('B');
    spout.ack('B');
    assert.deepEqual(channel().acked, [1]);
  });

  describe('when it is paused', () => {
    it('cancels the consumer, keeps what waits, and goes on with it', async () => {
      const { channel, clock, collector, emitted, spout } = await consuming();
      collector.cap = 0;
      channel().deliver('A');
      spout.deactivate();
      channel().deliver('before cancel-ok');
      await settled(clock);
      assert.equal(channel().consumer, undefined);
      collector.cap = 10;
      spout.nextTuples(10);
      assert.deepEqual(emitted(), []);
      spout.activate();
      spout.nextTuples(10);
      await settled(clock);
      assert.deepEqual(emitted(), ['orders A', 'orders before cancel-ok']);
      assert.ok(channel().consumer);
    });

    it('moves what has waited here for ten minutes of short pauses, so that its delivery limit is not used up', async () => {
      const { channel, clock, copies, collector, spout } = await consuming();
      collector.cap = 0;
      channel().deliver('overdue');
      channel().deliver('overdue');
      for (let pauses = 0; pauses < 12; pauses += 1) {
        spout.deactivate();
        await pass(clock, 50_000);
        spout.activate();
        await settled(clock);
      }
      assert.deepEqual([copies.sent, channel().givenBack], [[], []]);
      channel().deliver('newer');
      spout.deactivate();
      assert.deepEqual(
        copies.sent.map(({ delivery, waitMs }) => [
          Buffer.from(delivery.message.body).toString(),
          delivery.message.attempt,
          waitMs,
        ]),
        [['overdue', 0, 0]],
      );
      assert.deepEqual(channel().givenBack, [2], 'a copy behind it is given back');
      copies.sent[0]?.confirm();
      await settled(clock);
      assert.deepEqual(channel().acked, [1]);
    });

    it('gives back what waits after a minute, and what fails later goes to a level', async () => {
      const { channel, clock, copies, collector, fail, spout } = await consuming();
      channel().deliver('live');
      collector.cap = 1;
      channel().deliver('fresh');
      channel().deliver('live');
      spout.deactivate();
      await pass(clock, 60_000);
      assert.deepEqual(channel().givenBack.sort(), [2, 3]);
      fail('live');
      assert.equal(copies.sent.length, 1);
    });
  });

  it('drains: nothing new, what waits is given back, what was live is settled before the channel closes', async () => {
    const { broker, channel, clock, collector, emitted, spout } = await consuming();
    const draining = channel();
    draining.deliver('live');
    collector.cap = 1;
    draining.deliver('fresh');
    const quiesced = spout.quiesce();
    draining.deliver('before cancel-ok');
    await quiesced;
    assert.deepEqual(draining.givenBack, [2, 3]);
    spout.ack('live');
    await closed(spout, clock);
    assert.deepEqual(draining.acked, [1]);
    assert.equal(draining.isFlushed, true);
    await settled(clock);
    assert.deepEqual(emitted(), ['orders live']);
    assert.equal(broker.connections.length, 1);
    assert.equal(clock.timers, 0);
  });

  it('gives nothing back while the broker may send it straight back: a consumer begun, and no answer yet', async () => {
    const { channel, clock, spout } = await consuming();
    spout.deactivate();
    await settled(clock);
    const unanswered = channel();
    unanswered.silentOn.add('consume');
    spout.activate();
    await settled(clock);
    const quiesced = spout.quiesce();
    unanswered.deliver('late');
    await settled(clock);
    assert.deepEqual([unanswered.givenBack, unanswered.isClosed], [[], false]);
    await pass(clock, 10_200);
    await quiesced;
    assert.deepEqual([unanswered.givenBack, unanswered.isClosed], [[], true], 'its channel gives it back');
    await closed(spout, clock);
  });

  it('waits for copies under way before it closes', async () => {
    const { channel, clock, copies, fail, spout } = await consuming();
    channel().deliver('A');
    fail('A', { retryAfterMs: 60_000 });
    const closing = spout.close();
    await pass(clock, 1_000);
    assert.equal(channel().isClosed, false);
    copies.sent[0]?.confirm();
    await pass(clock, 1_000);
    await closing;
    assert.deepEqual(channel().acked, [1]);
  });

  it('leaves no timer and no listener behind after a hundred connections', async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error): void => void warnings.push(warning);
    process.on('warning', onWarning);
    const { broker, clock, connection, spout } = await consuming();
    for (let round = 0; round < 100; round++) {
      broker.connection.die(new Error('reset'));
      await pass(clock, 30_000);
    }
    assert.equal(broker.connections.length, 101);
    assert.equal(connection.link?.epoch, 101);
    await closed(spout, clock);
    await settled(clock);
    process.off('warning', onWarning);
    assert.equal(clock.timers, 0);
    // Node warns of the eleventh listener on one signal or emitter.
    assert.deepEqual(warnings, []);
  });
});

/** The runner's part: takes tuples up to a cap, and says which trees are alive. */
class HandCollector implements SpoutCollector<OrderStreams<OrderValues>> {
  readonly emitted: { stream: string; messageId: string; values: OrderValues }[] = [];
  readonly live = new Set<string>();
  cap = 10;
  spout: OrdersSpout<OrderValues> | undefined;

  emit(stream: string, messageId: string, values: OrderValues): 'emitted' | 'at-cap' | 'duplicate' {
    if (this.live.has(messageId)) return 'duplicate';
    if (this.room() === 0) return 'at-cap';
    this.live.add(messageId);
    this.emitted.push({ stream, messageId, values });
    return 'emitted';
  }

  emitUnreliable(): boolean {
    throw new Error('an order is never emitted unreliably');
  }

  isPending(messageId: string): boolean {
    return this.live.has(messageId);
  }

  room(): number {
    return Math.max(0, this.cap - this.live.size);
  }

  wake(): void {
    if (this.room() > 0) this.spout?.nextTuples(this.room());
  }

  end(messageId: string): void {
    this.live.delete(messageId);
    this.wake();
  }
}

async function consuming(options: Partial<OrdersSpoutOptions<OrderValues>> = {}) {
  const scene = scriptedScene('consume');
  const collector = new HandCollector();
  const copies = { sent: [] as { delivery: Delivery; waitMs: number; confirm(): void; refuse(): void }[] };
  const parked = { orders: [] as ParkedOrder[], refusals: 0 };
  const spout = new OrdersSpout<OrderValues>({
    connection: scene.connection,
    queue: 'orders',
    prepare: () => Promise.resolve(),
    scheme: (message) => {
      const messageId = Buffer.from(message.body).toString();
      if (messageId === 'throw') throw new Error('a bug');
      return { messageId, values: { message } };
    },
    parkingLot: {
      park: (order) => {
        parked.orders.push(order);
        parked.refusals -= 1;
        return parked.refusals >= 0 ? Promise.reject(new Error('no')) : Promise.resolve();
      },
    },
    retryCopies: {
      send: (delivery, waitMs) =>
        new Promise((resolve, reject) => {
          const refuse = () => {
            reject(new Error('no broker'));
          };
          copies.sent.push({ delivery, waitMs, confirm: resolve, refuse });
        }),
    },
    replayRules: { otherwise: { baseMs: 100, capMs: 1_000, maxReplays: 3 } },
    maxSpoutPending: 10,
    mostHeld: 3,
    clock: scene.clock,
    random: scene.random,
    log: silentLog,
    ...options,
  });
  collector.spout = spout;
  spout.open({ component: 'orders', task: 0 }, collector);
  spout.activate();
  await settled(scene.clock);
  return {
    ...scene,
    spout,
    collector,
    copies,
    parked,
    channel: () => scene.broker.channel,
    emitted: () => collector.emitted.map(({ stream, messageId }) => `${stream} ${messageId}`),
    values: () => {
      const last = collector.emitted.at(-1);
      assert.ok(last);
      return last.values;
    },
    fail: (messageId: string, overrides: Parameters<typeof failure>[0] = {}) => {
      collector.live.delete(messageId);
      spout.fail(messageId, failure(overrides));
    },
  };
}

/** Closing takes a moment of the clock's time. */
async function closed(spout: OrdersSpout<OrderValues>, clock: VirtualClock): Promise<void> {
  const closing = spout.close();
  await pass(clock, 1_000);
  await closing;
}

async function settledMicrotasks(): Promise<void> {
  await new Promise(setImmediate);
}
