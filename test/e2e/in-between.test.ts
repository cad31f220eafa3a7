/** What answers instead of the gateway: a page of a proxy, and a peer that speaks no TLS. */
import assert from 'node:assert/strict';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { waitFor } from '../support/wait-for.ts';
import { newOrderId, openStage, orderJson } from './stage.ts';

describe('in between', { concurrency: false }, () => {
  it('a 4xx page without JSON: never a denial, tried again with the same key, approved once it is gone', async (t) => {
    const stage = await openStage(t);
    const id = newOrderId();
    let pages = 2;
    const url = await startFront(t, stage.gateway.url, (response) => {
      if (pages <= 0) return false;
      pages -= 1;
      response.writeHead(400, { 'content-type': 'text/html' }).end('<html>blocked by policy</html>');
      return true;
    });
    const worker = await stage.startWorker({ CARDAUTH_GATEWAY_URL: url });
    await stage.publish(orderJson(id));
    await worker.waitForLine((line) => line.text.includes('proxy_page') && line.text.includes(id));
    const order = await stage.announced(id);
    assert.equal(order.status, 'ready-to-ship');
    assert.equal(pages, 0);
    const requests = await stage.gateway.requests(id);
    assert.deepEqual(
      requests.map((each) => each.idempotencyKey),
      [`order-${id}-1`],
    );
    await stage.endAndExpectEmptyQueue(worker);
  });

  it('a peer that speaks no TLS: the worker stops and says so, the order is untouched', async (t) => {
    const stage = await openStage(t);
    const id = newOrderId();
    const worker = await stage.startWorker({
      CARDAUTH_GATEWAY_URL: stage.gateway.url.replace('http:', 'https:'),
    });
    await stage.publish(orderJson(id));
    await worker.waitForLine((line) => line.text.includes('intake') && line.text.includes('TLS'));
    await waitFor('the claim to be given back', async () => (await stage.order(id))?.status === 'received');
    assert.equal((await stage.gateway.requests(id)).length, 0);
    worker.kill('SIGTERM');
    assert.equal((await worker.exited).code, 0);

    const next = await stage.startWorker();
    assert.equal((await stage.announced(id)).status, 'ready-to-ship');
    assert.equal((await stage.gateway.approvals(id)).length, 1);
    await stage.endAndExpectEmptyQueue(next);
  });
});

/** Answers itself where `intercept` does, and passes everything else on. */
async function startFront(
  t: TestContext,
  target: string,
  intercept: (response: ServerResponse) => boolean,
): Promise<string> {
  const front = createServer((incoming: IncomingMessage, response) => {
    if (intercept(response)) {
      incoming.resume();
      return;
    }
    const { method, headers, url = '/' } = incoming;
    const onward = request(new URL(url, target), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', () => response.destroy());
    incoming.pipe(onward);
  });
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    front.closeAllConnections();
    front.close();
  });
  return `http://127.0.0.1:${(front.address() as AddressInfo).port}`;
}
