import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import type { Unit } from './proxy-flow.ts';
import { startProxy, type Proxy } from './tcp-proxy.ts';
import { waitFor } from './wait-for.ts';

interface Client {
  readonly socket: Socket;
  received(): string;
  /** `code` of the error it ended with, 'FIN' after an orderly end, undefined while open. */
  ended(): string | undefined;
}

async function startEcho(t: TestContext): Promise<{ proxy: Proxy<Unit>; open: () => Promise<Client> }> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => socket.write(chunk.toString().toUpperCase()));
    socket.on('end', () => socket.end('(end)'));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const proxy = await startProxy({ target: `tcp://127.0.0.1:${(server.address() as AddressInfo).port}` });
  t.after(async () => {
    await proxy.close();
    server.close();
  });
  return { proxy, open: () => openClient(t, proxy.url) };
}

async function openClient(t: TestContext, url: string): Promise<Client> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  let received = '';
  let ended: string | undefined;
  socket.on('data', (chunk) => (received += chunk.toString()));
  socket.on('end', () => (ended ??= 'FIN'));
  socket.on('error', (error: NodeJS.ErrnoException) => (ended ??= error.code));
  t.after(() => socket.destroy());
  await once(socket, 'connect');
  return { socket, received: () => received, ended: () => ended };
}

const receives = (client: Client, text: string): Promise<boolean> =>
  waitFor(
    `${JSON.stringify(text)} (got ${JSON.stringify(client.received())})`,
    () => client.received() === text,
  );

test('passes bytes and orderly ends, and counts connections', async (t) => {
  const { proxy, open } = await startEcho(t);
  const [first, second] = [await open(), await open()];
  first.socket.write('hello');
  await receives(first, 'HELLO');
  second.socket.end('bye');
  await receives(second, 'BYE(end)');
  await waitFor('the end of the second', () => second.ended() === 'FIN' && proxy.connections.open === 1);
  assert.equal(proxy.connections.total, 2);
});

test('passes more than the buffers hold, unchanged', async (t) => {
  const { open } = await startEcho(t);
  const client = await open();
  client.socket.end('x'.repeat(8_000_000));
  await waitFor('all of it', () => client.received().length === 8_000_005);
});

test('latency delays and keeps the order', async (t) => {
  const { proxy, open } = await startEcho(t);
  const client = await open();
  proxy.setLatency(40);
  const startedAtMs = performance.now();
  client.socket.write('one');
  await waitFor('that it is on its way', () => performance.now() - startedAtMs > 10);
  client.socket.write('two');
  await receives(client, 'ONETWO');
  assert.ok(performance.now() - startedAtMs >= 80, 'both ways take 40 ms');
});

test('cut resets every connection', async (t) => {
  const { proxy, open } = await startEcho(t);
  const clients = [await open(), await open()];
  await waitFor('both', () => proxy.connections.open === 2);
  proxy.cut();
  await waitFor('two resets', () => clients.every((client) => client.ended() === 'ECONNRESET'));
  assert.equal(proxy.connections.open, 0);
});

test('frozen, nothing arrives and nothing ends; thawed, all arrives', async (t) => {
  const { proxy, open } = await startEcho(t);
  const client = await open();
  proxy.freeze('toClient');
  client.socket.write('a');
  client.socket.end('b');
  const other = await open();
  other.socket.write('c');
  await assert.rejects(waitFor('an echo', () => client.received() + other.received(), { timeoutMs: 50 }));
  assert.equal(client.ended() ?? other.ended(), undefined);
  proxy.thaw();
  await receives(client, 'AB(end)');
  await receives(other, 'C');
});

test('a rule holds what it says and all that follows, until released', async (t) => {
  const { proxy, open } = await startEcho(t);
  const client = await open();
  proxy.rule('toServer', (unit) => (unit.bytes.includes('COMMIT') ? 'hold' : 'pass'));
  client.socket.write('begin;');
  await receives(client, 'BEGIN;');
  client.socket.write('COMMIT;');
  await proxy.held();
  client.socket.write('after;');
  await assert.rejects(
    waitFor('an echo', () => client.received() !== 'BEGIN;', { timeoutMs: 50 }),
    /waited/,
  );
  proxy.release();
  await receives(client, 'BEGIN;COMMIT;AFTER;');
});

test('a rule drops, or cuts, what it says', async (t) => {
  const { proxy, open } = await startEcho(t);
  const [client, other] = [await open(), await open()];
  let dropped = 0;
  proxy.rule('toClient', (unit) => {
    if (!unit.bytes.includes('REPLY')) return 'pass';
    dropped += 1;
    return 'drop';
  });
  client.socket.write('reply');
  await waitFor('the drop', () => dropped === 1);
  client.socket.write('next');
  await receives(client, 'NEXT');
  proxy.rule('toServer', (unit) => (unit.bytes.includes('cut') ? 'cut' : 'pass'));
  client.socket.write('cut');
  await waitFor('a reset', () => client.ended() === 'ECONNRESET');
  assert.equal(client.received(), 'NEXT');
  other.socket.write('still open');
  await receives(other, 'STILL OPEN');
});

test('cut while held loses what was held', async (t) => {
  const { proxy, open } = await startEcho(t);
  const client = await open();
  proxy.rule('toServer', () => 'hold');
  client.socket.write('lost');
  await proxy.held();
  proxy.cut();
  await waitFor('a reset', () => client.ended() === 'ECONNRESET');
  proxy.rule('toServer', () => 'pass');
  const next = await open();
  next.socket.write('found');
  await receives(next, 'FOUND');
});

test('half-closed, the client hears an end and the server still listens', async (t) => {
  const { proxy, open } = await startEcho(t);
  const client = await open();
  client.socket.write('a');
  await receives(client, 'A');
  proxy.halfClose('toClient');
  await waitFor('an end', () => client.ended() === 'FIN');
  assert.ok(client.socket.writable);
  assert.equal(proxy.connections.open, 1);
});

test('a cut while an end is still on its way lets the server go, too', async (t) => {
  const sockets: Socket[] = [];
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => undefined);
    socket.resume();
    sockets.push(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const proxy = await startProxy({ target: `tcp://127.0.0.1:${(server.address() as AddressInfo).port}` });
  t.after(async () => {
    await proxy.close();
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  await openClient(t, proxy.url);
  const [accepted] = await waitFor('a connection', () => (sockets.length > 0 ? sockets : undefined));
  proxy.halfClose('toServer');
  // The end is handed to the kernel in this turn's ticks, and done in the next turn.
  await new Promise<void>((resolve) => {
    process.nextTick(() => {
      process.nextTick(() => {
        proxy.cut();
        resolve();
      });
    });
  });
  // What is written to a socket that nobody has any more is answered by a reset.
  await waitFor('the server to be let go', () => {
    accepted?.write('are you there?');
    return accepted?.destroyed;
  });
});

test('refuses new connections, keeps the open ones, and accepts again on the same port', async (t) => {
  const { proxy, open } = await startEcho(t);
  const client = await open();
  await proxy.refuse();
  await assert.rejects(open(), { code: 'ECONNREFUSED' });
  client.socket.write('a');
  await receives(client, 'A');
  await proxy.accept();
  const next = await open();
  next.socket.write('b');
  await receives(next, 'B');
});

test('a server that is away is a reset for the client', async (t) => {
  const { proxy, open } = await startEcho(t);
  const away = await startProxy({ target: proxy.url });
  t.after(() => away.close());
  await proxy.refuse();
  const client = await openClient(t, away.url);
  await waitFor('a reset', () => client.ended() === 'ECONNRESET');
  await assert.rejects(open(), { code: 'ECONNREFUSED' });
});

test('its URL is that of the target with its own host and port', async (t) => {
  const proxy = await startProxy({ target: 'postgres://me:secret@db.example/orders?sslmode=disable' });
  t.after(() => proxy.close());
  assert.match(proxy.url, /^postgres:\/\/me:secret@127\.0\.0\.1:\d+\/orders\?sslmode=disable$/);
});
