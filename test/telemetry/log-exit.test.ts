import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, it } from 'node:test';

const logModule = new URL('../../src/telemetry/log.js', import.meta.url).href;

/** Runs `code` with a log on the real stdout. */
function start(code: string) {
  const program = `import { createLog } from ${JSON.stringify(logModule)};
    const log = createLog({ level: 'info', format: 'json' });
    ${code}`;
  return spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

describe('the log on stdout', () => {
  for (const [how, code] of [
    ['process.exit', 'process.exit(0);'],
    ['the end of the program', ''],
    ['an uncaught error', 'setImmediate(() => { throw new Error("bug"); });'],
  ] as const) {
    it(`loses nothing and keeps the order at ${how}`, async () => {
      const child = start(`for (let n = 0; n < 20000; n++) log.info({ count: n }, 'line'); ${code}`);
      let output = '';
      child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
      await once(child, 'close');
      const counts = output
        .trimEnd()
        .split('\n')
        .map((line) => (JSON.parse(line) as { count: number }).count);
      assert.equal(counts.length, 20_000);
      assert.ok(counts.every((count, index) => count === index));
    });
  }

  it('does not stop the event loop when nobody reads', async () => {
    const child = start(`
      for (let n = 0; n < 5000; n++) log.info({ count: n, why: 'x'.repeat(500) }, 'more than a pipe holds');
      setTimeout(() => { process.stderr.write('still turning'); }, 50);`);
    const [text] = (await once(child.stderr, 'data')) as [Buffer];
    assert.equal(text.toString(), 'still turning');
    child.stdout.resume();
    await once(child, 'close');
  });

  it('survives a closed stdout', async () => {
    const child = start(`
      let n = 0;
      const timer = setInterval(() => {
        log.info({ count: n }, 'x');
        if (++n === 20) { clearInterval(timer); process.stderr.write('alive'); }
      }, 5);`);
    child.stdout.destroy();
    let errors = '';
    child.stderr.setEncoding('utf8').on('data', (part: string) => (errors += part));
    const [exitCode] = (await once(child, 'close')) as [number];
    assert.equal(errors, 'alive');
    assert.equal(exitCode, 0);
  });
});
