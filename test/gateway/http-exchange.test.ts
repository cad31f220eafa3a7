import assert from 'node:assert/strict';
import { channel } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { afterEach, describe, it } from 'node:test';
import { inspect } from 'node:util';
import { Secret } from '../../src/domain/card.ts';
import { createHttpClient } from '../../src/adapters/gateway/http-client.ts';
import { wallIn } from '../../src/adapters/gateway/wall.ts';
import { MAX_BODY_BYTES } from '../../src/adapters/gateway/http-exchange.ts';
import type { HttpClient } from '../../src/adapters/gateway/http-client.ts';
import type { Exchange } from '../../src/adapters/gateway/http-exchange.ts';
import { httpAnswer, startRawServer, unusedPort } from './raw-server.ts';
import type { RawServer, Respond } from './raw-server.ts';

const opened: { close(): Promise<void> }[] = [];

afterEach(async () => {
  // Servers first: a client waits for its connections.
  for (const thing of opened.splice(0).reverse()) await thing.close();
});

async function server(respond: Respond, onConnect?: (socket: Socket) => void): Promise<RawServer> {
  const started = await startRawServer(respond, onConnect);
  opened.push(started);
  return started;
}

function client(origin: string, connections = 4): HttpClient {
  const created = createHttpClient({ origin, connections, connectTimeoutMs: 2_000 });
  opened.unshift(created);
  return created;
}

function post(http: HttpClient, wallMs = 5_000, text = 'card=4242424242424242'): Promise<Exchange> {
  const request = { path: '/v1/things', headers: { 'x-key': 'k' }, body: new Secret(text) };
  return http.post(request, wallIn(wallMs));
}

async function postTo(respond: Respond, wallMs?: number): Promise<Exchange> {
  return post(client((await server(respond)).origin), wallMs);
}

function failed(exchange: Exchange): { sent: boolean; kind: string; fault: string | undefined } {
  const { sent, result } = exchange;
  return { sent, kind: result.kind, fault: 'fault' in result ? result.fault : undefined };
}

describe('an HTTP exchange', () => {
  it('is answered: status, headers and body', async () => {
    const exchange = await postTo((socket) => {
      socket.write(httpAnswer(402, '{"a":1}', { 'X-One': 'yes' }));
    });
    assert.equal(exchange.sent, true);
    assert.ok(exchange.result.kind === 'answered');
    assert.equal(exchange.result.status, 402);
    assert.equal(exchange.result.headers['x-one'], 'yes');
    assert.equal(exchange.result.body.reveal(), '{"a":1}');
    assert.doesNotMatch(inspect(exchange, { depth: 9, showHidden: true }), /"a"/);
  });

  it('joins repeated headers, and takes chunked bodies, bodies to the end of the connection and none', async () => {
    const answers = [
      'HTTP/1.1 200 OK\r\nX-A: 1\r\nX-A: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n',
      'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc',
      'HTTP/1.1 204 No Content\r\n\r\n',
    ];
    const bodies: string[] = [];
    for (const answer of answers) {
      const { result } = await postTo((socket) => socket.end(answer));
      assert.ok(result.kind === 'answered');
      bodies.push(result.body.reveal());
      if (bodies.length === 1) assert.equal(result.headers['x-a'], '1, 2');
    }
    assert.deepEqual(bodies, ['abc', 'abc', '']);
  });

  it('sends each request once and follows no redirect', async () => {
    const to = await server((socket) => {
      socket.write(httpAnswer(307, '', { Location: '/elsewhere' }));
    });
    const { result } = await post(client(to.origin));
    assert.ok(result.kind === 'answered');
    assert.equal(result.status, 307);
    assert.equal(to.requests.length, 1);
  });

  it('keeps connections alive and never has more of them than allowed', async () => {
    const to = await server((socket) => {
      socket.write(httpAnswer(200, '{}'));
    });
    const http = client(to.origin, 2);
    await Promise.all(Array.from({ length: 20 }, () => post(http)));
    assert.equal(to.requests.length, 20);
    assert.ok(to.connections() <= 2, `${to.connections()} connections`);
  });

  it('is not sent when nobody listens', async () => {
    const exchange = await post(client(`http://127.0.0.1:${await unusedPort()}`));
    assert.deepEqual(failed(exchange), { sent: false, kind: 'failed', fault: 'connection' });
    assert.ok(exchange.result.kind === 'failed');
    assert.equal(exchange.result.code, 'ECONNREFUSED');
  });

  it('is not sent when the name does not resolve', async () => {
    const exchange = await post(client('http://gateway.invalid'));
    assert.deepEqual(failed(exchange), { sent: false, kind: 'failed', fault: 'connection' });
  });

  it('is not sent when TLS is wanted and not spoken', async () => {
    const to = await server(
      () => undefined,
      (socket) => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'),
    );
    const exchange = await post(client(to.origin.replace('http:', 'https:')));
    assert.deepEqual(failed(exchange), { sent: false, kind: 'failed', fault: 'tls' });
  });

  it('is not sent when it waits in the pool past its wall, and is not sent later either', async () => {
    let release = (): void => undefined;
    const to = await server((socket) => {
      release = () => socket.write(httpAnswer(200, '{}'));
    });
    const http = client(to.origin, 1);
    const first = post(http);
    const second = await post(http, 100);
    assert.deepEqual(failed(second), { sent: false, kind: 'failed', fault: 'timeout' });
    release();
    assert.equal((await first).result.kind, 'answered');
    // The connection is free: what is sent over it now is the third request, not the second.
    const third = post(http, 5_000, 'third');
    await until(() => to.requests.length === 2);
    release();
    await third;
    assert.match(to.requests[1] ?? '', /third$/);
  });

  it('is not sent when its wall has been hit before it begins', async () => {
    const to = await server(() => undefined);
    const request = { path: '/', headers: {}, body: new Secret('x') };
    const exchange = await client(to.origin).post(request, wallIn(0));
    assert.deepEqual(failed(exchange), { sent: false, kind: 'failed', fault: 'timeout' });
    assert.equal(to.connections(), 0);
  });

  it('is not sent when the TLS handshake does not end within the wall', async () => {
    const to = await server(() => undefined);
    const exchange = await post(client(to.origin.replace('http:', 'https:')), 200);
    assert.deepEqual(failed(exchange), { sent: false, kind: 'failed', fault: 'timeout' });
    assert.equal(to.connections(), 1);
  });

  it('is sent when the connection is reset, or ended, before an answer', async () => {
    for (const cut of ['resetAndDestroy', 'end'] as const) {
      const exchange = await postTo((socket) => socket[cut]());
      assert.deepEqual(failed(exchange), { sent: true, kind: 'failed', fault: 'connection' }, cut);
    }
  });

  it('is sent when no answer comes, or half a head', async () => {
    for (const beginning of ['', 'HTTP/1.1 200 OK\r\nContent-Le']) {
      const exchange = await postTo((socket) => socket.write(beginning), 150);
      assert.deepEqual(failed(exchange), { sent: true, kind: 'failed', fault: 'timeout' });
    }
  });

  it('is sent when the answer is no HTTP', async () => {
    const exchange = await postTo((socket) => socket.end('220 mail.example ESMTP\r\n'));
    assert.deepEqual(failed(exchange), { sent: true, kind: 'failed', fault: 'malformed' });
  });

  it('is cut short when the body stalls, is cut, too large or no UTF-8', async () => {
    const head = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"id":';
    const stalled = await postTo((socket) => socket.write(head), 150);
    assert.deepEqual(failed(stalled), { sent: true, kind: 'cut_short', fault: 'timeout' });
    const cut = await postTo((socket) => socket.end(head));
    assert.deepEqual(failed(cut), { sent: true, kind: 'cut_short', fault: 'connection' });
    const large = await postTo((socket) => socket.write(httpAnswer(200, 'x'.repeat(MAX_BODY_BYTES + 1))));
    assert.deepEqual(failed(large), { sent: true, kind: 'cut_short', fault: 'too_large' });
    const binary = await postTo((socket) =>
      socket.write(Buffer.from(httpAnswer(200, '??').replace('??', '\xff\xfe'), 'latin1')),
    );
    assert.deepEqual(failed(binary), { sent: true, kind: 'cut_short', fault: 'malformed' });
  });

  it('takes a body of exactly the limit', async () => {
    const { result } = await postTo((socket) => socket.write(httpAnswer(200, 'x'.repeat(MAX_BODY_BYTES))));
    assert.equal(result.kind, 'answered');
  });

  it('does not reuse a connection whose answer was given up', async () => {
    const to = await server((socket, _request, nth) => {
      if (nth === 2) socket.write(httpAnswer(200, '{}'));
    });
    const http = client(to.origin, 1);
    assert.equal((await post(http, 100)).result.kind, 'failed');
    assert.equal((await post(http)).result.kind, 'answered');
    assert.equal(to.connections(), 2);
  });

  it('ends as it would have when the client is closed meanwhile', async () => {
    let release = (): void => undefined;
    const to = await server((socket) => {
      release = () => socket.write(httpAnswer(200, '{}'));
    });
    const http = client(to.origin, 1);
    const underWay = post(http);
    const waiting = post(http);
    await until(() => to.requests.length === 1);
    const closed = http.close();
    release();
    await until(() => to.requests.length === 2);
    release();
    assert.equal((await underWay).result.kind, 'answered');
    assert.equal((await waiting).result.kind, 'answered');
    await closed;
  });

  it('fails unsent after close', async () => {
    const to = await server((socket) => socket.write(httpAnswer(200, '{}')));
    const http = createHttpClient({ origin: to.origin, connections: 1, connectTimeoutMs: 1_000 });
    await http.close();
    assert.deepEqual(failed(await post(http)), { sent: false, kind: 'failed', fault: 'connection' });
  });

  it('subscribes once for all clients', () => {
    // The channel has no public count: its list of subscribers is read where Node keeps it.
    const count = (): number =>
      (channel('undici:client:sendHeaders') as unknown as { _subscribers: unknown[] })._subscribers.length;
    client('http://127.0.0.1:1');
    const before = count();
    for (let n = 0; n < 5; n += 1) client('http://127.0.0.1:1');
    assert.equal(count(), before);
  });
});

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}
