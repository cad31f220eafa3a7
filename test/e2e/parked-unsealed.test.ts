/** Without a card key parked orders wait, as they came, on a queue of their own: replays take them from there. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { waitFor } from '../support/wait-for.ts';
import { countOf, operator, park, REASON, recorded, type ParkedAs } from './parking-lot.ts';
import { newOrderId, openStage, orderJson, type Stage } from './stage.ts';

const exhausted = (orderId: string): ParkedAs => ({
  body: orderJson(orderId),
  reason: 'replays_exhausted',
  class: 'exhausted',
  error: 'the gateway was away',
});

describe('replays without a card key', { concurrency: false }, () => {
  it('publish the wanted ones, leave the others in their place, and clear away what was discarded', async (t) => {
    const stage = await openStage(t);
    const worker = await stage.startWorker();
    const ops = operator(stage);
    const [first, second, discarded, kept] = Array.from({ length: 4 }, () => newOrderId()) as [
      string,
      string,
      string,
      string,
    ];
    await park(stage, [first, discarded, second, kept].map(exhausted));
    await recorded(stage, 4);
    assert.equal(await countOf(stage, `replay_from = 'unsealed-queue' and body_form = 'redacted'`), 4);
    assert.equal(await waiting(stage), 4);
    const parkIdOf = async (orderId: string) => (await ops.list('--order', orderId))[0]?.parkId ?? '';

    const discard = await ops.run('parked', 'discard', await parkIdOf(discarded), ...REASON, '--yes');
    assert.equal(discard.exitCode, 0, discard.stderr);
    const wanted = [await parkIdOf(first), await parkIdOf(second)];
    const replayed = await ops.replay(...wanted, ...REASON, '--yes');
    assert.deepEqual([replayed.exitCode, replayed.batch?.counts.published], [0, 2], replayed.stderr);

    for (const orderId of [first, second]) {
      assert.equal((await stage.announced(orderId)).status, 'ready-to-ship');
      assert.equal((await stage.gateway.approvals(orderId)).length, 1);
    }
    await waitFor('the kept order alone to be left there', async () => (await waiting(stage)) === 1);
    assert.equal(await stage.order(discarded), undefined);
    assert.equal(await stage.order(kept), undefined);

    const rest = await ops.replay('--all', ...REASON, '--yes');
    assert.deepEqual([rest.exitCode, rest.batch?.counts.published], [0, 1], rest.stderr);
    assert.equal((await stage.announced(kept)).status, 'ready-to-ship');
    await waitFor('nothing to be left there', async () => (await waiting(stage)) === 0);
    await stage.endAndExpectEmptyQueue(worker);
  });
});

async function waiting({ broker, client }: Stage): Promise<number> {
  return (await client.counts(`${broker.prefix}.parked.unsealed`))?.ready ?? 0;
}
