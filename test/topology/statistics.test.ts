import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import fc from 'fast-check';

import { LatencyHistogram, summarize } from '../../src/topology/histogram.ts';
import { RollingWindows, type Counter } from '../../src/topology/rolling-windows.ts';
import { Gate, basicBolt, numberSpout, oneBolt, pushNumbers, started, virtualProcess } from './fixtures.ts';

const MINUTE_MS = 60_000;

describe('latency histogram', () => {
  it('never understates a percentile, and overstates it by at most 1/16', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0, max: 4e6, noNaN: true }), { minLength: 1, maxLength: 200 }),
        (latenciesMs) => {
          const histogram = new LatencyHistogram();
          for (const latencyMs of latenciesMs) histogram.record(latencyMs);
          const sorted = latenciesMs.map((ms) => Math.round(ms * 1000) / 1000).toSorted((a, b) => a - b);
          const summary = summarize(histogram.counts);
          assert.equal(summary.count, sorted.length);
          for (const [share, got] of [
            [0.5, summary.p50Ms],
            [0.95, summary.p95Ms],
            [0.99, summary.p99Ms],
            [1, summary.maxMs],
          ] as const) {
            const exact = sorted[Math.ceil(sorted.length * share) - 1] ?? NaN;
            assert.ok(got >= exact - 1e-9 && got <= exact * (1 + 1 / 16) + 1e-9, `${got} for ${exact}`);
          }
        },
      ),
    );
  });

  it('takes what no clock should give', () => {
    const histogram = new LatencyHistogram();
    for (const latencyMs of [-5, 0, Infinity, 1e12]) histogram.record(latencyMs);
    assert.equal(summarize(histogram.counts).count, 4);
    assert.deepEqual(summarize(new LatencyHistogram().counts), {
      count: 0,
      p50Ms: 0,
      p95Ms: 0,
      p99Ms: 0,
      maxMs: 0,
    });
  });
});

describe('rolling windows', () => {
  it('hold what happened in the last 19 to 20 steps of their span, however time moves', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: 0, max: 40 * MINUTE_MS }), fc.integer({ min: 1, max: 9 })), {
          maxLength: 60,
        }),
        fc.integer({ min: 0, max: 20 * MINUTE_MS }),
        (events, quietMs) => {
          const windows = new RollingWindows(0);
          const counter = windows.counter();
          const history: { atMs: number; count: number }[] = [];
          let nowMs = 0;
          for (const [gapMs, count] of events) {
            nowMs += gapMs / 10;
            windows.roll(nowMs);
            counter.value += count;
            history.push({ atMs: nowMs, count });
          }
          nowMs += quietMs;
          const since = (fromMs: number): number =>
            history.reduce((sum, { atMs, count }) => (atMs >= fromMs ? sum + count : sum), 0);
          for (const [name, spanMs] of [
            ['10m', 10 * MINUTE_MS],
            ['3h', 180 * MINUTE_MS],
            ['1d', 1_440 * MINUTE_MS],
          ] as const) {
            const reading = windows.read(name, nowMs);
            assert.ok(reading.spanMs <= spanMs && reading.spanMs <= nowMs);
            assert.ok(reading.spanMs >= Math.min(nowMs, spanMs * 0.95), `${name} covers ${reading.spanMs}`);
            assert.equal(reading.count(counter), since(nowMs - reading.spanMs), name);
          }
          assert.equal(windows.read('all', nowMs).count(counter), since(0));
        },
      ),
    );
  });

  it('subtract histograms too', () => {
    const windows = new RollingWindows(0);
    const histogram = windows.histogram();
    windows.roll(0);
    histogram.record(500);
    windows.roll(9 * MINUTE_MS);
    histogram.record(1);
    const early = summarize(windows.read('10m', 9 * MINUTE_MS).latencies(histogram));
    const late = summarize(windows.read('10m', 15 * MINUTE_MS).latencies(histogram));
    const later = summarize(windows.read('10m', 25 * MINUTE_MS).latencies(histogram));
    assert.deepEqual([early.count, late.count, later.count], [2, 1, 0]);
    assert.ok(early.maxMs >= 500 && late.maxMs < 2);
  });

  it('keep a fixed number of readings', () => {
    const windows = new RollingWindows(0);
    const counter: Counter = windows.counter();
    for (let nowMs = 0; nowMs < 3 * 1_440 * MINUTE_MS; nowMs += MINUTE_MS) {
      windows.roll(nowMs);
      counter.value++;
    }
    assert.ok(windows.readings <= 60, String(windows.readings));
  });
});

describe('statistics of a topology', () => {
  it('count every tuple once, where it happened', async () => {
    const spout = numberSpout();
    const { clock, process } = virtualProcess();
    const bolt = basicBolt<Readonly<Record<'out', Readonly<Record<'n', number>>>>>(async (tuple, emit) => {
      await process.sleep(20);
      if (tuple.values.n % 5 === 0) throw new Error('no');
      emit('out', tuple.values);
    });
    const local = await started(
      oneBolt(spout, bolt, { streams: { out: ['n'] }, unconsumed: ['out'], concurrency: 2 }),
      { clock, process },
    );
    pushNumbers(spout, 20);
    await local.advance(1_000);
    const { spouts, bolts } = local.runner.statistics();
    const source = spouts['source']?.windows['10m'];
    assert.deepEqual(source?.streams, {
      numbers: {
        emitted: 20,
        transferred: 20,
        discarded: 0,
        acked: 16,
        failedExplicit: 4,
        failedTimeout: 0,
        failedShutdown: 0,
        unreliable: 0,
      },
    });
    assert.equal(source.complete.count, 16);
    assert.ok(source.complete.maxMs >= 100 && source.complete.maxMs <= 107, String(source.complete.maxMs));
    const work = bolts['work']?.windows['10m'];
    assert.deepEqual(work?.inputs, {
      'source.numbers': { executed: 20, acked: 16, failed: 4, toErrorStream: 0, expired: 0, settledTwice: 0 },
    });
    assert.deepEqual(work.outlets, {
      out: { emitted: 16, transferred: 0, discarded: 0 },
      error: { emitted: 0, transferred: 0, discarded: 0 },
    });
    assert.ok(work.execute.p50Ms >= 20 && work.execute.maxMs < 21.3);
    assert.equal(work.capacity, (20 * 20) / (1_000 * 2));
  });

  it('count complete latency from the receipt at the source', async () => {
    const spout = numberSpout();
    const gate = new Gate();
    const local = await started(oneBolt(spout, gate.bolt));
    await local.advance(10_000);
    spout.collector.emit('numbers', 'm0', { n: 0 }, { receivedAtMs: 4_000 });
    await local.advance(1_000);
    gate.letOneGo();
    await local.runToIdle();
    const complete = local.runner.statistics().spouts['source']?.windows.all.complete;
    assert.ok(complete !== undefined && complete.p50Ms >= 7_000 && complete.p50Ms < 7_500);
  });

  it('say why the spout is idle', async () => {
    const spout = numberSpout();
    const gate = new Gate();
    const local = await started(oneBolt(spout, gate.bolt, { cap: 1 }));
    const idle = () => local.runner.statistics().spouts['source']?.idle;
    assert.deepEqual(idle(), { reason: 'spout', detail: 'nothing was pushed', waitingReplays: 0 });
    pushNumbers(spout, 2);
    await local.advance(2_500);
    assert.deepEqual(idle(), {
      reason: 'at-cap',
      detail: '1 trees pending, at the cap for 2500 ms',
      waitingReplays: 0,
    });
    local.runner.pause('operator');
    assert.equal(idle()?.reason, 'paused');
    await local.settle(local.runner.abort());
    assert.equal(idle()?.reason, 'stopped');
  });
});
