import assert from 'node:assert/strict';
import { approvalsOf, ledgerOf, parsed, postCharge, until, type TestSimulator } from './support.ts';

/** The key is free: the same request is executed now. */
export async function assertCharges(simulator: TestSimulator): Promise<void> {
  const answer = await postCharge(simulator);
  assert.deepEqual([answer.status, answer.headers['idempotent-replayed']], [200, undefined]);
  assert.equal(ledgerOf(simulator).length, 1);
}

export async function assertChargedAlready(simulator: TestSimulator, orderId = '1234'): Promise<void> {
  const approvals = approvalsOf(simulator).filter((entry) => entry.orderId === orderId);
  assert.equal(approvals.length, 1);
  const answer = await postCharge(simulator, { orderId });
  assert.equal(answer.headers['idempotent-replayed'], 'true');
  assert.equal(parsed(answer)['id'], approvals[0]?.authorizationId);
  assert.equal(approvalsOf(simulator).filter((entry) => entry.orderId === orderId).length, 1);
}

/** A client that gives up while the gateway has its request, noticed by the gateway. */
export async function hangUpDuring(simulator: TestSimulator): Promise<void> {
  const client = new AbortController();
  const asked = postCharge(simulator, {}, { signal: client.signal });
  await until(simulator, 'the request is there', ({ counts }) => counts.open === 1);
  client.abort();
  await assert.rejects(asked, { name: 'AbortError' });
  await until(simulator, 'the client is gone', ({ counts }) => counts.open === 0);
}
