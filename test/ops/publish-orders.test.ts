import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { ndjsonLines } from '../../src/ops/ndjson-lines.ts';
import { publishOrders, type LineProblem } from '../../src/ops/publish-orders.ts';
import { RetriableError } from '../../src/topology/errors.ts';

async function* chunksOf(bytes: Uint8Array, ...cuts: readonly number[]): AsyncGenerator<Uint8Array> {
  let from = 0;
  for (const cut of [...cuts].sort((a, b) => a - b)) {
    yield await Promise.resolve(bytes.subarray(from, Math.max(from, cut)));
    from = Math.max(from, cut);
  }
  yield bytes.subarray(from);
}

async function linesOf(text: string, maxBytes: number, ...cuts: readonly number[]) {
  const lines: (readonly [number, string | undefined])[] = [];
  for await (const { number, bytes } of ndjsonLines(chunksOf(Buffer.from(text), ...cuts), maxBytes)) {
    lines.push([number, bytes?.toString()]);
  }
  return lines;
}

describe('ndjsonLines', () => {
  it('numbers lines, skips blank ones, and takes any line end or none', async () => {
    assert.deepEqual(await linesOf('a\r\n\n \t\r\nb\nc', 10), [
      [1, 'a'],
      [4, 'b'],
      [5, 'c'],
    ]);
    assert.deepEqual(await linesOf('', 10), []);
  });

  it('says so of a line that is too long, blank or not, and goes on', async () => {
    assert.deepEqual(await linesOf('12345\r\n123456\n       \n1\n1234567', 5), [
      [1, '12345'],
      [2, undefined],
      [3, undefined],
      [4, '1'],
      [5, undefined],
    ]);
  });

  it('does not depend on where chunks end', async () => {
    const text = 'äöü\r\n{"a":1}\n\nx';
    const whole = await linesOf(text, 8);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(Buffer.byteLength(text)), { maxLength: 6 }), async (cuts) => {
        assert.deepEqual(await linesOf(text, 8, ...cuts), whole);
      }),
    );
  });
});

function errorOf(errorClass: string): Error {
  return new RetriableError('4242424242424242', { errorClass });
}

async function run(text: string, publish: (body: string) => Promise<void>, signal?: AbortSignal) {
  const problems: LineProblem[] = [];
  let ids = 0;
  const report = await publishOrders(() => chunksOf(Buffer.from(text)), {
    publisher: { publish: ({ body }) => publish(Buffer.from(body).toString()) },
    newMessageId: () => `id-${++ids}`,
    onProblem: (problem) => problems.push(problem),
    ...(signal === undefined ? {} : { signal }),
  });
  return { report, problems };
}

describe('publishOrders', () => {
  it('publishes every line byte for byte, numbers and spaces as they stand', async () => {
    const bodies: string[] = [];
    const lines = ['{"id":9007199254740993, "a":1.10}', '{"id":"ü","creditCardNumber":6205500000000000004}'];
    const { report } = await run(lines.join('\n'), (body) => Promise.resolve(void bodies.push(body)));
    assert.deepEqual(bodies, lines);
    assert.deepEqual(report, { published: 2, refused: 0, failed: 0, stopped: undefined });
  });

  it('refuses bad lines by number, without their content', async () => {
    const text = [
      '{"id":1}',
      '{"cvv":987',
      '[1]',
      'null',
      '"x"',
      `{"x":"${'y'.repeat(65_536)}"}`,
      '{"id":2}',
    ];
    const { report, problems } = await run(text.join('\n'), () => Promise.resolve());
    assert.deepEqual(
      problems.map(({ line }) => line),
      [2, 3, 4, 5, 6],
    );
    assert.doesNotMatch(JSON.stringify(problems), /987|yyy/);
    assert.deepEqual(report, { published: 2, refused: 5, failed: 0, stopped: undefined });
  });

  it('refuses what is not UTF-8', async () => {
    const input = () => chunksOf(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]));
    const report = await publishOrders(input, {
      publisher: { publish: () => Promise.resolve() },
      newMessageId: () => 'id',
    });
    assert.equal(report.refused, 1);
  });

  it('explains each way of not being confirmed, without the error itself', async () => {
    const classes = ['unroutable', 'nacked', 'publisher_unavailable', 'ambiguous', 'other'];
    const text = classes.map((errorClass) => JSON.stringify({ errorClass })).join('\n');
    const { report, problems } = await run(text, (body) =>
      Promise.reject(errorOf((JSON.parse(body) as { errorClass: string }).errorClass)),
    );
    assert.equal(report.failed, 5);
    assert.deepEqual(
      problems.map(({ what }) => what.split(':')[0]),
      [
        'not published',
        'not published',
        'not published',
        'not confirmed',
        'not confirmed, for an unexpected reason',
      ],
    );
    assert.doesNotMatch(JSON.stringify(problems), /4242/);
  });

  it('has at most 256 lines under way', async () => {
    let [now, most] = [0, 0];
    const text = '{}\n'.repeat(1000);
    const { report } = await run(text, async () => {
      most = Math.max(most, ++now);
      await new Promise((resolve) => setImmediate(resolve));
      now--;
    });
    assert.equal(report.published, 1000);
    assert.equal(most, 256);
  });

  it('gives the broker up after 256 failures in a row', async () => {
    const { report } = await run('{}\n'.repeat(10_000), () =>
      Promise.reject(errorOf('publisher_unavailable')),
    );
    assert.equal(report.stopped, 'broker');
    assert.ok(report.failed >= 256 && report.failed < 1024, String(report.failed));
  });

  it('does not give up while something is confirmed', async () => {
    let count = 0;
    const { report } = await run('{}\n'.repeat(2000), () =>
      ++count % 100 === 0 ? Promise.resolve() : Promise.reject(errorOf('nacked')),
    );
    assert.deepEqual(report, { published: 20, refused: 0, failed: 1980, stopped: undefined });
  });

  it('stops reading when interrupted, and awaits what is under way', async () => {
    const controller = new AbortController();
    let confirmed = 0;
    const { report } = await run(
      '{}\n'.repeat(5000),
      async () => {
        if (confirmed === 300) controller.abort();
        await new Promise((resolve) => setImmediate(resolve));
        confirmed++;
      },
      controller.signal,
    );
    assert.equal(report.stopped, 'interrupted');
    assert.equal(report.published, confirmed);
    assert.ok(confirmed >= 300 && confirmed < 5000);
  });

  it('rejects when the input cannot be read', async () => {
    const input = {
      [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error('EIO')) }),
    };
    const options = { publisher: { publish: () => Promise.resolve() }, newMessageId: () => 'id' };
    await assert.rejects(
      publishOrders(() => input, options),
      /EIO/,
    );
  });
});
