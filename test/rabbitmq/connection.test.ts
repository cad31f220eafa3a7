import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { pass, scriptedScene, settled } from './scene.ts';

describe('a supervised connection', () => {
  it('tries all hosts, in any order, before it waits', async () => {
    const { broker, clock, connection } = scriptedScene('consume', 'amqp://one,amqp://two,amqp://three');
    for (const host of ['one', 'two', 'three']) broker.down.add(host);
    connection.start();
    await settled(clock);
    assert.deepEqual([...broker.dialled].sort(), ['one', 'three', 'two']);
    assert.match(connection.unavailableBecause() ?? '', /cannot connect to RabbitMQ at (one|two|three):5672/);
    broker.down.delete('two');
    await pass(clock, 100);
    assert.equal(connection.unavailableBecause(), undefined);
    await connection.close();
  });

  it('waits longer and longer, up to 30 s, and soon again after a stable minute', async () => {
    const { broker, clock, connection } = scriptedScene('consume');
    broker.down.add('one');
    connection.start();
    await pass(clock, 600_000);
    const attemptsInTenMinutes = broker.dialled.length;
    assert.ok(attemptsInTenMinutes > 20 && attemptsInTenMinutes < 80, `${attemptsInTenMinutes} attempts`);

    broker.down.delete('one');
    await pass(clock, 90_000 + 1_000);
    broker.connection.die(new Error('reset'));
    await pass(clock, 100);
    assert.equal(connection.link?.epoch, 2);
    await connection.close();
  });

  it('gives up a host that does not answer', async () => {
    const { broker, clock, connection } = scriptedScene('consume', 'amqp://silent');
    const signals: AbortSignal[] = [];
    const answering = broker.dial;
    connectOnceSilently(broker, signals);
    connection.start();
    await pass(clock, 4_900);
    assert.equal(signals[0]?.aborted, false);
    await pass(clock, 100);
    assert.equal(signals[0].aborted, true);
    assert.match(connection.unavailableBecause() ?? '', /did not answer within 5000 ms/);
    broker.dial = answering;
    await connection.close();
  });

  it('ends by `close` alone, as a forced close does, with a new epoch afterwards', async () => {
    const { broker, clock, connection } = scriptedScene('consume');
    connection.start();
    await settled(clock);
    const current = () => connection.link;
    const first = current();
    broker.connection.die();
    assert.equal(first?.isOpen(), false);
    assert.equal(current(), undefined);
    await pass(clock, 200);
    assert.deepEqual([current()?.epoch, current()?.broker.version], [2, '3.10.8']);
    await connection.close();
  });

  it('replaces a connection that the broker closed before anybody could listen', async () => {
    const { broker, clock, connection } = scriptedScene('consume');
    const { dial } = broker;
    broker.dial = async (...call) => {
      const model = await dial(...call);
      await model.close();
      broker.dial = dial;
      return model;
    };
    connection.start();
    await settled(clock);
    await assert.rejects(connection.link?.openChannel() ?? Promise.resolve());
    await pass(clock, 200);
    assert.equal(connection.link?.epoch, 2);
    await connection.close();
  });

  it('destroys the socket of a peer that does not say goodbye', async () => {
    const { broker, clock, connection } = scriptedScene('consume');
    connection.start();
    await settled(clock);
    broker.connection.close = () => new Promise(() => undefined);
    let isClosed = false;
    const closing = connection.close().then(() => (isClosed = true));
    await pass(clock, 4_900);
    assert.equal(isClosed, false);
    await pass(clock, 100);
    await closing;
    assert.equal(clock.timers, 0);
  });

  it('stops while it is still connecting', async () => {
    const { broker, clock, connection } = scriptedScene('consume');
    broker.down.add('one');
    connection.start();
    await settled(clock);
    await connection.close();
    const attempts = broker.dialled.length;
    await pass(clock, 60_000);
    assert.equal(broker.dialled.length, attempts);
    assert.equal(clock.timers, 0);
  });

  it('rejects who waits for a link when they stop waiting', async () => {
    const { connection } = scriptedScene('consume');
    const stop = new AbortController();
    const waiting = assert.rejects(connection.whenOpen(stop.signal));
    stop.abort();
    await waiting;
  });
});

function connectOnceSilently(
  broker: ReturnType<typeof scriptedScene>['broker'],
  signals: AbortSignal[],
): void {
  broker.dial = (_endpoint, _role, signal) => {
    signals.push(signal);
    return new Promise(() => undefined);
  };
}
