/** What befalls the ways between a worker and its broker, under load. */
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { nextBelow, seededRandom, type RandomSource } from '../../src/topology/random.ts';
import { basicAck, isMethod, type AmqpFrame } from '../support/amqp-frames.ts';
import { bySize } from '../support/scale.ts';
import { startAmqpProxy, type Direction, type Proxy } from '../support/tcp-proxy.ts';
import { waitFor } from '../support/wait-for.ts';
import { beginOrdeal } from './ordeal.ts';

/** A worker's waits grow with every cut, and start anew only after a quiet minute: several share the cuts. */
const WORKERS = 4;
const CUTS_EACH = bySize(6, 25);

/** One replay is all that an order has: what happens to its connection must not use it up. */
const ENVIRONMENT = { CARDAUTH_MAX_ATTEMPTS: '1' };

describe('the ways between worker and broker', { concurrency: false }, () => {
  it(`cut at ${WORKERS * CUTS_EACH} random instants`, { timeout: 900_000 }, async (t) => {
    const seed = Number(process.env['CARDAUTH_CUTS_SEED'] ?? randomInt(2 ** 31));
    t.diagnostic(`CARDAUTH_CUTS_SEED=${seed}`);
    const ordeal = await beginOrdeal(t, { ordersPerSecond: 80, environment: ENVIRONMENT });
    const ways: Proxy<AmqpFrame>[] = [];
    for (let n = 0; n < WORKERS; n += 1) ways.push(await watchedWay(t, ordeal));
    const workers = await Promise.all(ways.map(({ url }) => ordeal.startWorker({ AMQP_URL: url })));

    await ordeal.underLoad(async () => {
      await Promise.all(ways.map((way, n) => cutAgainAndAgain(way, seededRandom(seed + n))));
    });
    for (const worker of workers) await worker.ready({ timeoutMs: 60_000 });
    for (const [n, { process }] of workers.entries()) {
      await waitFor(
        'each worker to have its three sockets to the broker, and nothing left of those before',
        () => socketsTo(ways[n]?.url ?? '', process.pid) === 3,
      );
    }
    t.diagnostic(JSON.stringify(await ordeal.expectBalance()));
  });

  it('acks swallowed: what was not acked comes again, and nothing is charged again', async (t) => {
    const ordeal = await beginOrdeal(t, { environment: ENVIRONMENT });
    const worker = await ordeal.startWorker();
    let swallowed = 0;
    await ordeal.underLoad(async () => {
      ordeal.proxy.rule('toServer', (frame) => {
        if (!isMethod(frame, basicAck)) return 'pass';
        swallowed += 1;
        return 'drop';
      });
      await waitFor('many acks to be swallowed', () => swallowed >= 50, { timeoutMs: 30_000 });
      ordeal.proxy.rule('toServer', () => 'pass');
      ordeal.proxy.cut();
    });
    await worker.ready();
    const books = await ordeal.expectBalance();
    assert.ok(ordeal.watched.delivered > books.orders, 'nothing was delivered twice');
  });

  it('confirms swallowed: published again under the same id, and the worker goes on', async (t) => {
    const ordeal = await beginOrdeal(t, { environment: ENVIRONMENT });
    const worker = await ordeal.startWorker();
    let swallowed = 0;
    await ordeal.underLoad(async () => {
      ordeal.proxy.rule('toClient', (frame) => {
        if (!isMethod(frame, basicAck)) return 'pass';
        swallowed += 1;
        return 'drop';
      });
      await waitFor('confirms to be missed', () => saysNow(worker.process.lines, 'no confirm within'), {
        timeoutMs: 40_000,
      });
      ordeal.proxy.rule('toClient', () => 'pass');
    });
    await worker.ready({ timeoutMs: 60_000 });
    assert.ok(swallowed > 0);
    await ordeal.expectBalance();
  });

  it('slow, half closed and reset', async (t) => {
    const ordeal = await beginOrdeal(t, { environment: ENVIRONMENT });
    const worker = await ordeal.startWorker();
    await ordeal.underLoad(async () => {
      ordeal.proxy.setLatency(150);
      await sleep(2_000);
      for (const direction of ['toServer', 'toClient'] as const) {
        const before = ordeal.proxy.connections.total;
        ordeal.proxy.halfClose(direction);
        await reconnected(ordeal.proxy, before);
      }
      const before = ordeal.proxy.connections.total;
      ordeal.proxy.cut();
      await reconnected(ordeal.proxy, before);
      ordeal.proxy.setLatency(0);
    });
    await worker.ready({ timeoutMs: 30_000 });
    await ordeal.expectBalance();
  });

  it('a silent peer: passed by as one of two hosts; waited for as the only one, also in mid-handshake', async (t) => {
    const ordeal = await beginOrdeal(t, { environment: ENVIRONMENT });
    const silent = await startAmqpProxy({ target: ordeal.stage.broker.url });
    t.after(() => silent.close());
    silent.freeze();
    const both = await ordeal.startWorker({ AMQP_URL: `${silent.url},${ordeal.proxy.url}` });

    const alone = await watchedWay(t, ordeal);
    let answered = 0;
    alone.rule('toClient', () => {
      answered += 1;
      return answered > 1 ? 'hold' : 'pass';
    });
    const waiting = await ordeal.startWorker({ AMQP_URL: alone.url }, 'started');
    await waitFor('the health server', () => waiting.reasons().then(() => true));
    await ordeal.underLoad(async () => {
      const why = await waiting.unready(/did not answer within 5000 ms: connecting/, { timeoutMs: 30_000 });
      assert.match(why, /orders queue/);
      alone.rule('toClient', () => 'pass');
      alone.cut();
      await waiting.ready({ timeoutMs: 60_000 });
    });
    await both.ready();
    await ordeal.expectBalance();
  });

  it('frozen while it works: noticed by heartbeat, and left for a new connection', async (t) => {
    const ordeal = await beginOrdeal(t, { environment: ENVIRONMENT });
    const url = `${ordeal.proxy.url}?heartbeat=1`;
    const worker = await ordeal.startWorker({ AMQP_URL: url });
    await ordeal.underLoad(async () => {
      ordeal.proxy.freeze();
      // Either side's heartbeat notices first.
      await worker.unready(/orders queue: .*(Heartbeat timeout|ECONNRESET|did not answer)/, {
        timeoutMs: 30_000,
      });
      ordeal.proxy.thaw();
      ordeal.proxy.cut();
      await worker.ready({ timeoutMs: 60_000 });
    });
    await ordeal.expectBalance();
  });
});

/** One more way to the broker, watched as the first one is. */
async function watchedWay(
  t: TestContext,
  { stage, watched }: Awaited<ReturnType<typeof beginOrdeal>>,
): Promise<Proxy<AmqpFrame>> {
  // Another proxy counts its connections from 1, too.
  const offset = (nextOffset += 1_000);
  const way = await startAmqpProxy({
    target: stage.broker.url,
    watch: (connection, ...rest) => {
      watched.watch(connection + offset, ...rest);
    },
  });
  t.after(() => way.close());
  return way;
}

let nextOffset = 0;

/** Half of the cuts fall at some time, the others at some frame, so that no step of a handshake is spared. */
async function cutAgainAndAgain(way: Proxy<AmqpFrame>, random: RandomSource): Promise<void> {
  for (let cut = 0; cut < CUTS_EACH; cut += 1) {
    await waitFor('a connection to cut', () => way.connections.open > 0, { timeoutMs: 120_000 });
    if (nextBelow(random, 2) === 0) {
      await sleep(nextBelow(random, 700));
      way.cut();
    } else {
      await cutAtFrame(way, nextBelow(random, 2) === 0 ? 'toServer' : 'toClient', 1 + nextBelow(random, 60));
    }
  }
}

async function cutAtFrame(way: Proxy<AmqpFrame>, direction: Direction, frames: number): Promise<void> {
  let left = frames;
  await new Promise<void>((resolve) => {
    way.rule(direction, () => {
      left -= 1;
      if (left > 0) return 'pass';
      resolve();
      return 'cut';
    });
  });
  way.rule(direction, () => 'pass');
}

async function reconnected(proxy: Proxy<AmqpFrame>, totalBefore: number): Promise<void> {
  await waitFor('two new connections', () => proxy.connections.total >= totalBefore + 2, {
    timeoutMs: 30_000,
  });
}

function saysNow(lines: readonly { readonly text: string }[], text: string): boolean {
  return lines.some((line) => line.text.includes(text));
}

/** How many sockets of the process, in whatever state, lead to the port of the URL. */
function socketsTo(url: string, pid: number): number {
  const port = Number(new URL(url).port).toString(16).toUpperCase().padStart(4, '0');
  const inodes = new Set(
    readFileSync('/proc/net/tcp', 'utf8')
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .filter((columns) => columns[2]?.endsWith(`:${port}`))
      .map((columns) => `socket:[${columns[9] ?? ''}]`),
  );
  return readdirSync(`/proc/${pid}/fd`).filter((fd) => inodes.has(linkOf(`/proc/${pid}/fd/${fd}`))).length;
}

/** A descriptor may be closed while we look. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}
