import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Secret } from '../../src/domain/card.ts';
import { createLog, type LogOptions } from '../../src/telemetry/log.ts';
import { testCards } from './test-cards.ts';

const [card] = testCards;
const spaced = '5555 5555 5555 4444';

function capture(options: Partial<LogOptions> = {}) {
  const lines: string[] = [];
  const destination = { write: (line: string) => lines.push(line) };
  const log = createLog({ level: 'trace', format: 'json', destination, ...options });
  const last = () => JSON.parse(lines.at(-1) ?? '{}') as Record<string, unknown>;
  return { log, lines, last };
}

describe('createLog', () => {
  it('writes one JSON object a line, with level, ISO time and message', () => {
    const { log, lines, last } = capture();
    log.info({ orderId: '1234', attempt: 2, amountMinor: 4223n }, 'order approved');
    const { time, pid, ...rest } = last();
    assert.deepEqual(rest, {
      level: 'info',
      orderId: '1234',
      attempt: 2,
      amountMinor: '4223',
      msg: 'order approved',
    });
    assert.match(String(time), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    assert.equal(pid, process.pid);
    assert.equal(lines.length, 1);
    assert.ok(lines[0]?.endsWith('}\n'));
  });

  it('keeps quiet below its level', () => {
    const { log, lines } = capture({ level: 'warn' });
    log.info({}, 'no');
    log.warn({}, 'yes');
    log.error({}, 'yes');
    assert.equal(lines.length, 2);
    const silent = capture({ level: 'silent' });
    silent.log.error({}, 'no');
    assert.equal(silent.lines.length, 0);
  });

  it('drops fields that are not on the list, and names them', () => {
    const { log, last, lines } = capture();
    log.info({ creditCardCode: '987', orderId: '1', order: { card } }, 'x');
    assert.deepEqual(last()['omitted'], ['creditCardCode', 'order']);
    assert.doesNotMatch(lines.join(''), /987|4242/);
  });

  it('drops objects in fields that are on the list', () => {
    const { log, last } = capture();
    log.info({ orderId: { creditCardCode: '987' }, reasons: ['a', { creditCardCode: '987' }, 3] }, 'x');
    assert.deepEqual(last()['omitted'], ['orderId']);
    assert.deepEqual(last()['reasons'], ['a', 3]);
  });

  it('prints a secret in no way', () => {
    const { log, lines } = capture();
    log.info({ orderId: new Secret(card), why: `it is ${String(new Secret('987'))}` }, 'x');
    assert.doesNotMatch(lines.join(''), /4242|987/);
  });

  it('keeps huge numbers exact and the JSON whole', () => {
    const { log, last } = capture();
    log.info({ count: 4242424242424242, generation: -4e15, lagMs: NaN, attempt: 1e10 }, 'x');
    assert.deepEqual(
      [last()['count'], last()['generation'], last()['lagMs'], last()['attempt']],
      ['424242******4242', '-4000000000000000', 'NaN', 1e10],
    );
  });

  it('keeps the JSON whole whatever number is logged', () => {
    const { log, last } = capture();
    log.info({ delayMs: 17.4242424242424 }, 'x');
    assert.equal(last()['delayMs'], 17.424);
    fc.assert(
      fc.property(fc.oneof(fc.double(), fc.integer(), fc.maxSafeInteger()), (number) => {
        log.info({ delayMs: number, reasons: [number, -number] }, `${number}`);
        assert.ok('delayMs' in last());
      }),
      { numRuns: 2000 },
    );
  });

  it('reduces errors to type, message, code, class, frames and causes', () => {
    const { log, last } = capture();
    const cause = Object.assign(new Error(`refused ${spaced}`), {
      code: 'ECONNREFUSED',
      detail: card,
      body: '987',
    });
    log.error({ err: Object.assign(new Error('outer', { cause }), { errorClass: 'database' }) }, 'x');
    const err = last()['err'] as Record<string, unknown>;
    const inner = err['cause'] as Record<string, unknown>;
    assert.deepEqual(Object.keys(err), ['type', 'message', 'errorClass', 'stack', 'cause']);
    assert.deepEqual(Object.keys(inner), ['type', 'message', 'code', 'stack']);
    assert.equal(inner['message'], 'refused 5555 55** **** 4444');
    assert.match(String((err['stack'] as string[])[0]), /^at .*log\.test/);
  });

  it('withholds messages that quote their input', () => {
    const { log, lines } = capture();
    for (const provoke of [
      () => JSON.parse('{"cvv":987,') as unknown,
      () => new URL('http://u:pass987@:x'),
    ]) {
      try {
        provoke();
        assert.fail('nothing was thrown');
      } catch (error) {
        log.error({ err: error }, 'x');
      }
    }
    assert.equal(lines.length, 2);
    assert.doesNotMatch(lines.join(''), /987/);
    assert.match(lines.join(''), /withheld/);
  });

  it('stops at deep causes, long texts and many items', () => {
    const { log, lines } = capture();
    let error = new Error('innermost');
    for (let depth = 0; depth < 100; depth++) error = new Error('x'.repeat(5000), { cause: error });
    log.error(
      { err: error, reasons: Array.from({ length: 1000 }, () => 'y'.repeat(5000)) },
      'z'.repeat(100_000),
    );
    assert.ok((lines[0]?.length ?? Infinity) < 50_000, String(lines[0]?.length));
  });

  it('masks registered secrets plain, escaped, URL-encoded, in base64 and hex', () => {
    const secret = 'p"ss w\u00f6rd/1+2';
    const { log, lines } = capture({ secrets: [secret, ''] });
    const bytes = Buffer.from(secret);
    for (const form of [
      secret,
      encodeURIComponent(secret),
      bytes.toString('base64'),
      bytes.toString('hex'),
    ]) {
      log.info({ why: `a ${form} b` }, `c ${form} d`);
      assert.match(lines.at(-1) ?? '', /"why":"a \[secret\]=* b","msg":"c \[secret\]=* d"/);
    }
  });

  for (const format of ['json', 'text'] as const) {
    it(`lets no card number through as ${format}, wherever it is put`, () => {
      const { log, lines } = capture({ format });
      const written = fc
        .tuple(fc.constantFrom(...testCards), fc.constantFrom('', ' ', '-', '\u00a0', '\n'))
        .map(([number, separator]) => ({ number, text: number.replace(/(\d{4})(?=\d)/g, `$1${separator}`) }));
      const noise = fc.string({ maxLength: 30 }).map((text) => text.replace(/\d/g, '"'));
      fc.assert(
        fc.property(written, noise, ({ number, text }, before) => {
          lines.length = 0;
          const said = `${before}${text}${before}`;
          const json = JSON.stringify({ body: { creditCardNumber: text } });
          log.info(
            { orderId: said, messageId: text, why: json, reasons: [said, number], count: Number(number) },
            said,
          );
          log.error({ err: new TypeError(said, { cause: new Error(json) }), where: BigInt(number) }, json);
          const digits = lines
            .join('')
            .replace(/\\n/g, '')
            .replace(/[^\d*]/g, '');
          assert.ok(!digits.includes(number), lines.join(''));
          if (format === 'json') for (const line of lines) JSON.parse(line);
        }),
        { numRuns: 300 },
      );
    });
  }

  it('writes text for people, frames below the line', () => {
    const { log, lines } = capture({ format: 'text' });
    log.warn({ orderId: '1234', why: 'two words', err: new RangeError('bad') }, 'order waits');
    const [line = '', frame = ''] = lines.join('').split('\n');
    assert.match(
      line,
      /^[\dT:.Z-]+ WARN {2}order waits orderId=1234 why="two words" err="RangeError: bad" pid=\d+$/,
    );
    assert.match(frame, /^ {4}at /);
  });

  it('is fast enough to log every order', () => {
    const { log, lines } = capture({ secrets: ['sk_test_0123456789', 'hunter2-hunter2'] });
    const startedAt = performance.now();
    for (let n = 0; n < 5000; n++)
      log.info({ orderId: `${n}`, attempt: 1, amountMinor: 4223n }, 'order approved');
    const perSecond = (5000 / (performance.now() - startedAt)) * 1000;
    assert.equal(lines.length, 5000);
    assert.ok(perSecond > 10_000, `${Math.round(perSecond)} lines a second`);
  });
});
