import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { flatnessOf, minutesOf, type Minute } from './soak-minutes.ts';

const MINUTES = 30;
const START_MS = Date.parse('2026-01-01T00:00:00Z');

/** A soak as it should be, with some noise; `change` makes one figure of a minute worse. */
function soak(change: (minute: number) => Partial<Minute> = () => ({})): Minute[] {
  return Array.from({ length: MINUTES }, (_, minute) => ({
    minute,
    published: 6_000,
    announced: 6_000,
    p50Ms: 20 + (minute % 3),
    p99Ms: 300 + (minute % 7) * 60,
    backlog: minute % 11,
    rssMib: 120 + (minute % 5) * 3 + (minute < 4 ? -30 : 0),
    heapMib: 40 + (minute % 4),
    descriptors: 24 + (minute % 2),
    resources: 30 + (minute % 3),
    ...change(minute),
  }));
}

function rising(minutes: readonly Minute[]): readonly string[] {
  const { isFlat, trends } = flatnessOf(minutes);
  assert.equal(isFlat, !trends.some((trend) => !trend.isFlat));
  return trends.filter((trend) => !trend.isFlat).map(({ name }) => name);
}

describe('a soak is flat', () => {
  it('with noise, after a warm-up', () => {
    assert.deepEqual(rising(soak()), []);
  });

  for (const [name, change] of [
    // 180,000 orders that leave 200 bytes each behind.
    ['rssMib', (minute) => ({ rssMib: 120 + (minute * 34) / MINUTES })],
    ['heapMib', (minute) => ({ heapMib: 40 + minute / 2 })],
    // One at each kill of a neighbour.
    ['descriptors', (minute) => ({ descriptors: 24 + minute })],
    ['resources', (minute) => ({ resources: 30 + minute })],
    ['p50Ms', (minute) => ({ p50Ms: 20 + 2 * minute })],
    ['p99Ms', (minute) => ({ p99Ms: 300 + 60 * minute })],
    ['backlog', (minute) => ({ backlog: 10 * minute })],
  ] as const satisfies [string, (minute: number) => Partial<Minute>][])
    it(`but not when ${name} rises`, () => {
      assert.deepEqual(rising(soak(change)), [name]);
    });

  it('or nobody can tell, when it was too short', () => {
    assert.equal(flatnessOf(soak().slice(0, 6)).isFlat, undefined);
  });
});

describe('the minutes of a soak', () => {
  it('have latencies by the minute of the publishing, and the vitals of the worker that lived longest', () => {
    const orders = [
      { orderId: '1', publishedMs: 10, announcedMs: 30 },
      { orderId: '2', publishedMs: 59_990, announcedMs: 60_490 },
      { orderId: '3', publishedMs: 70_000, announcedMs: 70_040 },
    ];
    const vital = (pid: number, atMs: number, rssBytes: number) => ({
      ...{ pid, atMs: START_MS + atMs, rssBytes, heapBytes: 2 ** 20 },
      ...{ descriptors: 20, resources: 5 },
    });
    const minutes = minutesOf({
      startMs: START_MS,
      endMs: START_MS + 120_000,
      journal: [
        ...orders.map(({ orderId, publishedMs }) => ({
          ...{ atMs: START_MS + publishedMs, messageId: orderId, orderId, outcome: 'confirmed' },
        })),
        { atMs: START_MS + 5, messageId: '4', orderId: '4', outcome: 'confirmed' },
      ],
      receipts: orders.map(({ orderId, announcedMs }) => ({
        atMs: START_MS + announcedMs,
        eventId: undefined,
        correlationId: orderId,
        routingKey: '',
        body: { orderId, status: '', amountMinor: '', currency: '', authorizationId: null },
      })),
      vitals: [vital(1, 0, 2 ** 27), vital(1, 61_000, 2 ** 28), vital(2, 1_000, 2 ** 20)],
    });
    assert.deepEqual(
      minutes.map(({ published, announced, p50Ms, p99Ms, backlog, rssMib }) => [
        ...[published, announced, p50Ms, p99Ms, backlog, rssMib],
      ]),
      [
        [2, 1, 500, 500, 1, 128],
        [1, 2, 40, 40, 0, 256],
      ],
    );
  });
});
