import assert from 'node:assert/strict';
import { it } from 'node:test';
import { newOrderId, openStage, orderJson } from './stage.ts';

it('a worker that is told to end warns of nothing: what it closes itself has not failed', async (owner) => {
  const stage = await openStage(owner);
  const worker = await stage.startWorker();
  const id = newOrderId();
  await stage.publish(orderJson(id));
  await stage.announced(id);
  worker.kill('SIGTERM');
  assert.deepEqual(await worker.exited, { code: 0, signal: null });
  const output = worker.lines.map(({ text }) => text);
  const end = output.slice(output.findIndex((line) => line.includes('"draining"')));
  assert.match(end.at(-1) ?? '', /drained/);
  assert.deepEqual(
    end.filter((line) => /"level":"(warn|error)"/.test(line)),
    [],
  );
});
