import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import type { Publication } from '../../src/adapters/rabbitmq/publication.ts';
import { Publisher, type PublisherOptions } from '../../src/adapters/rabbitmq/publisher.ts';
import { RetriableError } from '../../src/topology/errors.ts';
import { pass, scriptedScene, settled, silentLog } from './scene.ts';

describe('the publisher', () => {
  it('resolves on the confirm, and sends persistent and mandatory', async () => {
    const { channel, publisher } = await opened();
    await publisher.publish(message('a'));
    const [sent] = channel().published;
    assert.deepEqual([sent?.options.persistent, sent?.options.mandatory], [true, true]);
  });

  it('refuses a returned message although the broker confirms it', async () => {
    const { channel, publisher } = await opened();
    channel().onPublish = 'return';
    await assert.rejects(publisher.publish(message('a')), classed('unroutable'));
  });

  it('takes a return for every owed message that it may mean, and for no other', async () => {
    const { channel, publisher } = await opened();
    channel().onPublish = 'wait';
    const twins = [publisher.publish(message('a')), publisher.publish(message('a'))];
    const elsewhere = publisher.publish({ ...message('a'), routingKey: 'other' });
    const others = publisher.publish(message('b'));
    channel().published[1]?.giveBack();
    for (const sent of channel().published) sent.confirm();
    for (const twin of twins) await assert.rejects(twin, classed('unroutable'));
    await elsewhere;
    await others;
  });

  it('tells a refusal from a lost channel and from silence', async () => {
    const { channel, clock, publisher } = await opened();
    channel().onPublish = 'nack';
    await assert.rejects(publisher.publish(message('a')), classed('nacked'));

    channel().onPublish = 'wait';
    const swallowed = assert.rejects(publisher.publish(message('b')), classed('ambiguous'));
    await pass(clock, 1_200);
    await swallowed;

    channel().onPublish = 'wait';
    const lost = assert.rejects(publisher.publish(message('c')), classed('ambiguous'));
    channel().die('404 (NOT-FOUND)');
    await lost;
  });

  it('keeps what waits for room in the window when the channel dies under it', async () => {
    const { channel, clock, publisher } = await opened({ windowSize: 1 });
    channel().onPublish = 'wait';
    const lost = assert.rejects(publisher.publish(message('a')), classed('ambiguous'));
    const waiting = publisher.publish(message('b'));
    channel().die('gone');
    await lost;
    await pass(clock, 200);
    await waiting;
  });

  it('publishes on a new channel after one died, and waits for it', async () => {
    const { channel, clock, publisher } = await opened();
    channel().die('gone');
    const waiting = publisher.publish(message('a'));
    await pass(clock, 200);
    await waiting;
  });

  it('says that nothing was sent when there is no channel in time', async () => {
    const { broker, clock, publisher } = await opened();
    broker.down.add('one');
    broker.connection.die();
    await settled(clock);
    assert.match(publisher.availability.unavailableBecause() ?? '', /connection to one:5672 ended/);
    const refused = assert.rejects(publisher.publish(message('a')), classed('publisher_unavailable'));
    await pass(clock, 1_000);
    await refused;
  });

  it('keeps no more than the window unconfirmed', async () => {
    const { channel, publisher } = await opened({ windowSize: 2 });
    channel().onPublish = 'wait';
    const all = Promise.all(['a', 'b', 'c'].map((id) => publisher.publish(message(id))));
    assert.equal(channel().published.length, 2);
    channel().onPublish = 'confirm';
    for (const sent of [...channel().published]) sent.confirm();
    await all;
    assert.equal(channel().published.length, 3);
  });

  it('replaces a channel that owes nothing but overdue confirms', async () => {
    const { broker, channel, clock, publisher } = await opened({ windowSize: 2 });
    channel().onPublish = 'wait';
    const outcomes = Promise.allSettled(['a', 'b'].map((id) => publisher.publish(message(id))));
    await pass(clock, 1_200);
    await outcomes;
    assert.equal(broker.connection.channels.length, 2);
    await publisher.publish(message('c'));
  });

  it('replaces a channel on which nothing at all is confirmed any more', async () => {
    const { broker, channel, clock, publisher } = await opened();
    channel().onPublish = 'wait';
    const swallowed = assert.rejects(publisher.publish(message('a')), classed('ambiguous'));
    await pass(clock, 1_200);
    await swallowed;
    assert.equal(broker.connection.channels.length, 2);
    await publisher.publish(message('b'));
  });

  it('keeps a channel that confirms other messages', async () => {
    const { broker, channel, clock, publisher } = await opened();
    channel().onPublish = 'wait';
    const swallowed = assert.rejects(publisher.publish(message('a')), classed('ambiguous'));
    await pass(clock, 700);
    channel().onPublish = 'confirm';
    await publisher.publish(message('b'));
    await pass(clock, 500);
    await swallowed;
    assert.equal(broker.connection.channels.length, 1);
  });

  it('replaces a channel on which everything has been refused for a second', async () => {
    const { broker, channel, clock, publisher } = await opened();
    channel().onPublish = 'nack';
    for (let n = 0; n < 4; n += 1) {
      await assert.rejects(publisher.publish(message('a')), classed('nacked'));
      assert.equal(broker.connection.channels.length, 1, `after refusal ${n}`);
      await pass(clock, 300);
    }
    await assert.rejects(publisher.publish(message('a')), classed('nacked'));
    await pass(clock, 200);
    assert.equal(broker.connection.channels.length, 2);
    await publisher.publish(message('a'));
  });

  it('keeps a channel that refuses some messages and takes others', async () => {
    const { broker, channel, clock, publisher } = await opened();
    for (let n = 0; n < 6; n += 1) {
      channel().onPublish = 'nack';
      await assert.rejects(publisher.publish(message('a')), classed('nacked'));
      channel().onPublish = 'confirm';
      await publisher.publish(message('b'));
      await pass(clock, 300);
    }
    assert.equal(broker.connection.channels.length, 1);
  });

  it('keeps a channel that is blocked', async () => {
    const { broker, channel, clock, publisher } = await opened();
    channel().onPublish = 'wait';
    const unconfirmed = assert.rejects(publisher.publish(message('a')), classed('ambiguous'));
    broker.connection.emit('blocked', 'low on memory');
    await pass(clock, 1_200);
    await unconfirmed;
    assert.equal(broker.connection.channels.length, 1);
  });

  it('waits while the broker blocks publishing, and says so', async () => {
    const { broker, channel, clock, publisher } = await opened();
    let changes = 0;
    publisher.availability.onChange(() => (changes += 1));
    broker.connection.emit('blocked', 'low on memory');
    const waiting = publisher.publish(message('a'));
    await settled(clock);
    assert.equal(channel().published.length, 0);
    assert.match(publisher.availability.unavailableBecause() ?? '', /low on memory/);
    broker.connection.emit('unblocked');
    await waiting;
    assert.equal(publisher.availability.unavailableBecause(), undefined);
    assert.equal(changes, 2);
  });

  it('waits for drain after a full write buffer', async () => {
    const { channel, publisher } = await opened();
    channel().hasRoom = false;
    await publisher.publish(message('a'));
    const waiting = publisher.publish(message('b'));
    assert.equal(channel().published.length, 1);
    channel().emit('drain');
    await waiting;
  });

  it('reports what has no encoding as such, and goes on', async () => {
    const { channel, publisher } = await opened();
    channel().onPublish = 'throw';
    await assert.rejects(publisher.publish(message('a')), classed('unpublishable'));
    channel().onPublish = 'confirm';
    await publisher.publish(message('b'));
  });

  it('prepares again after a return, but not every time', async () => {
    let prepared = 0;
    const { channel, clock, publisher } = await opened({
      prepare: () => {
        prepared += 1;
        return Promise.resolve();
      },
    });
    await pass(clock, 5_000);
    channel().onPublish = 'return';
    for (const id of ['a', 'b', 'c']) await assert.rejects(publisher.publish(message(id)));
    assert.equal(prepared, 2);
  });

  it('closes what an opening still brings after it was closed', async () => {
    let goOn: () => void = () => undefined;
    const { broker, clock, publisher } = await opened({
      prepare: () => new Promise((resolve) => (goOn = resolve)),
    });
    await publisher.close();
    goOn();
    await settled(clock);
    assert.equal(broker.channel.isFlushed, true);
  });

  it('closes once everything is settled, refuses what comes later, and leaves no timer', async () => {
    const { channel, clock, connection, publisher } = await opened();
    channel().onPublish = 'wait';
    const last = publisher.publish(message('a'));
    let isClosed = false;
    const closing = publisher.close().then(() => (isClosed = true));
    await settled(clock);
    assert.equal(isClosed, false);
    await assert.rejects(publisher.publish(message('b')), classed('publisher_unavailable'));
    channel().published[0]?.confirm();
    await last;
    await closing;
    await connection.close();
    await settled(clock);
    assert.equal(clock.timers, 0);
  });
});

async function opened(options: Partial<PublisherOptions> = {}) {
  const scene = scriptedScene('publish');
  const publisher = new Publisher({
    name: 'notifications',
    connection: scene.connection,
    prepare: () => Promise.resolve(),
    clock: scene.clock,
    random: scene.random,
    log: silentLog,
    deadlineMs: 1_000,
    ...options,
  });
  scene.connection.start();
  publisher.start();
  await settled(scene.clock);
  return { ...scene, publisher, channel: () => scene.broker.channel };
}

function message(messageId: string): Publication {
  return { exchange: 'e', routingKey: 'k', body: Buffer.from('{}'), properties: { messageId } };
}

function classed(errorClass: string): (error: unknown) => boolean {
  return (error) => error instanceof RetriableError && error.errorClass === errorClass;
}
