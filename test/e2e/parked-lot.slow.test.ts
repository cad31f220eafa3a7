/** A large parking lot of six causes: grouped, replayed at a rate, killed half way, resumed. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { sharedKey } from '../jose/keys.ts';
import { waitFor } from '../support/wait-for.ts';
import { auditOf, countOf, deadLetter, operator, park, REASON, recorded } from './parking-lot.ts';
import { startCli } from './run-cli.ts';
import { newOrderId, openStage, orderJson } from './stage.ts';

const EXHAUSTED = 4_250;
const OTHERS = 150;

it('replays a lot of 5,000 in spite of a kill half way: each order is authorized once', async (t) => {
  const stage = await openStage(t);
  const environment = { CARDAUTH_CARD_KEY: JSON.stringify(sharedKey()) };
  await stage.startWorker(environment);
  const ops = operator(stage, environment);
  const newIds = (count: number) => Array.from({ length: count }, () => newOrderId());
  const [unsent, dead] = [newIds(EXHAUSTED), newIds(OTHERS)];
  const because = { class: 'exhausted', reason: 'replays_exhausted', error: 'the gateway was away' } as const;
  const input = { class: 'input', error: 'see the reason' } as const;
  await park(stage, [
    ...unsent.map((id) => ({ ...because, body: orderJson(id) })),
    ...newIds(OTHERS).map((id) => ({ ...input, reason: 'amount_negative', body: orderJson(id, { chargeAmount: -1 }) })),
    ...newIds(OTHERS).map((id) => ({ ...input, reason: 'currency_unknown', body: orderJson(id, { currency: 'XQX' }) })),
    ...newIds(OTHERS).map((id) => ({ ...input, reason: 'amount_range', body: orderJson(id, { chargeAmount: 9_999_999 }) })),
    ...newIds(OTHERS).map((id) => ({ ...because, class: 'review' as const, reason: 'order_conflict', body: orderJson(id) })),
  ]); // prettier-ignore
  await deadLetter(stage, dead.map((id) => orderJson(id))); // prettier-ignore
  await recorded(stage, EXHAUSTED + 5 * OTHERS);

  const groups = await ops.groups();
  assert.deepEqual(groups.map(({ count }) => count), [EXHAUSTED, OTHERS, OTHERS, OTHERS, OTHERS, OTHERS]); // prettier-ignore
  const replayed = EXHAUSTED + OTHERS;
  const dry = await ops.replay('--all');
  assert.deepEqual([dry.plan?.taken, dry.plan?.left], [replayed, 4 * OTHERS]);

  const args = ['parked', 'replay', '--all', ...REASON, '--yes', '--rate', '1000/s'];
  const command = startCli(t, args, { ...stage.environment, ...environment });
  await waitFor('a third of it', async () => (await countOf(stage, `state = 'replayed'`)) > replayed / 3, { timeoutMs: 40_000 }); // prettier-ignore
  command.kill('SIGKILL');
  await command.exited;
  const left = await countOf(stage, `state = 'replaying'`);
  assert.ok(left > 0, 'it was done before it was killed');
  const [member] = await ops.list('--state', 'replaying');
  const resumed = await ops.replay('--batch', member?.batchId ?? '');
  // What was confirmed and not marked when it was killed may be announced by now: there is nothing to do for it.
  const { published = 0, closed = 0 } = resumed.batch?.counts ?? {};
  // A few of those may be in a worker's hands at this moment: they are left, and closed by another replay below.
  assert.ok([0, 3].includes(resumed.exitCode), resumed.stderr);
  assert.ok(published + closed > replayed - 200, `${published} published, ${closed} closed`);

  const ids = [...unsent, ...dead];
  await waitFor('all to be announced', async () => {
    const { rows } = await stage.database.query<{ count: number }>(
      `select count(*)::int as count from cardauth.orders where status = 'ready-to-ship' and notified_at is not null`,
    );
    return rows[0]?.count === ids.length;
  }, { timeoutMs: 60_000 }); // prettier-ignore
  if (resumed.exitCode === 3) await ops.replay('--all', ...REASON, '--yes');
  assert.equal(await countOf(stage, `state = 'replayed'`), replayed);
  const charged = (await stage.gateway.approvals()).map(({ orderId }) => orderId);
  assert.equal(charged.length, ids.length);
  assert.deepEqual(new Set(charged), new Set(ids));
  const entries = (await auditOf(stage, 'parked replay')).filter(({ subject }) =>
    subject.startsWith('parked:'),
  );
  assert.equal(new Set(entries.map(({ subject }) => subject)).size, replayed);
  assert.equal(entries.length, replayed);
});
