import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { FactQueue } from '../../src/adapters/postgres/fact-queue.ts';
import { WaitingFact } from '../../src/adapters/postgres/waiting-fact.ts';

describe('the queue of facts', () => {
  it('takes one fact an order, the longest waiting first, up to the limit', () => {
    const queue = new FactQueue();
    const [a1, a2, b1, c1] = add(queue, 'a', 'a', 'b', 'c');
    assert.deepEqual(queue.take(2), [a1, b1]);
    assert.deepEqual(queue.take(2), [c1]);
    assert.deepEqual(queue.take(2), [], 'the second fact of a waits for the first');
    queue.giveBack(a1);
    assert.deepEqual(queue.take(2), [a2]);
  });

  it('takes a fact again before the others of its order', () => {
    const queue = new FactQueue();
    const [a1, a2] = add(queue, 'a', 'a');
    queue.take(1);
    queue.giveBack(a1, true);
    assert.deepEqual(queue.take(1), [a1]);
    queue.giveBack(a1);
    assert.deepEqual(queue.take(1), [a2]);
  });

  it('passes over what was answered meanwhile', async () => {
    const queue = new FactQueue();
    const [a1, a2, b1] = add(queue, 'a', 'a', 'b');
    for (const late of [a1, b1]) {
      const rejected = assert.rejects(late.answered, /deadline/);
      late.answer(new Error('deadline'));
      await rejected;
    }
    assert.deepEqual(queue.take(5), [a2]);
    queue.giveBack(a2);
    assert.equal(queue.isEmpty, true);
  });

  it('is empty only when everything was given back', () => {
    const queue = new FactQueue();
    const [a1] = add(queue, 'a');
    assert.equal(queue.isEmpty, false);
    queue.take(1);
    assert.equal(queue.isEmpty, false);
    queue.giveBack(a1);
    assert.equal(queue.isEmpty, true);
  });

  it('drains what is not taken, and what follows a taken fact once that was given back', () => {
    const queue = new FactQueue();
    const [a1, a2, b1, b2] = add(queue, 'a', 'a', 'b', 'b');
    queue.take(1);
    assert.deepEqual(queue.drain(), [b1, b2]);
    queue.giveBack(a1);
    assert.deepEqual(queue.drain(), [a2]);
    assert.equal(queue.isEmpty, true);
  });
});

function add<Ids extends string[]>(queue: FactQueue, ...orderIds: Ids): { [K in keyof Ids]: WaitingFact } {
  const fact = { kind: 'parked', reason: 'test' } as const;
  const facts = orderIds.map((orderId) => new WaitingFact({ orderId, fact }));
  for (const fact of facts) queue.add(fact);
  return facts as { [K in keyof Ids]: WaitingFact };
}
