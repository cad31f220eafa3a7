import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startProcess } from '../support/worker-process.ts';

const program = fileURLToPath(new URL('../../../bin/cardauth.mjs', import.meta.url));
type Owner = Parameters<typeof startProcess>[0]['owner'];

async function run(owner: Owner, args: readonly string[], env: Record<string, string | undefined> = {}) {
  const child = startProcess({ owner, args: [program, ...args], env });
  const { code } = await child.exited;
  const text = (from: 'stdout' | 'stderr') =>
    child.lines
      .filter((line) => line.from === from)
      .map((line) => `${line.text}\n`)
      .join('');
  return { code, stdout: text('stdout'), stderr: text('stderr') };
}

describe('the cardauth program', () => {
  it('prints help and exits 0, without colour in a pipe', async (t) => {
    const { code, stdout, stderr } = await run(t, ['--help'], { FORCE_COLOR: undefined });
    assert.deepEqual([code, stderr], [0, '']);
    assert.match(stdout, /^Usage: cardauth/);
    assert.ok(!stdout.includes('\x1b'));
  });

  it('prints the version of the package', async (t) => {
    assert.match((await run(t, ['--version'])).stdout, /^\d+\.\d+\.\d+\n$/);
  });

  it('exits 2 on wrong usage and 78 on bad configuration', async (t) => {
    assert.equal((await run(t, ['no-such-command'])).code, 2);
    const { code, stdout, stderr } = await run(t, ['config', 'check'], { CARDAUTH_NONSENSE: '1' });
    assert.deepEqual([code, stdout], [78, '']);
    assert.match(stderr, /CARDAUTH_NONSENSE is not a variable that exists/);
  });

  it('runs the simulator until SIGTERM, and exits 0', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'cardauth-cli-'));
    t.after(() => {
      rmSync(folder, { recursive: true });
    });
    const args = [program, 'simulator', '--port', '0', '--ledger', join(folder, 'ledger.ndjson')];
    const child = startProcess({ owner: t, args });
    const { text } = await child.waitForLine('listening on');
    const url = /http:\S+(?=,)/.exec(text)?.[0] ?? '';
    const response = await fetch(`${url}/__ledger`);
    assert.deepEqual(await response.json(), { entries: [] });
    child.kill('SIGTERM');
    assert.deepEqual((await child.exited).code, 0);
  });
});
