import { spawn as spawnProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/**
 * The keeper is a process of its own that starts everything we start and ends it when we end, however we
 * end: `stop()`, Ctrl-C, a crash or kill -9. It notices by the end of its stdin, so no service, temporary
 * directory or container outlives the command that asked for it. Both sides write JSON lines.
 *
 * - `spawn({ command, args, env, cwd, uid, gid, logFile, stopSignals })` starts a process whose output goes
 *   to `logFile`; its handle has `pid` and `exited`, a promise of `{ code, signal }`. `stopSignals` are sent
 *   one after the other, five seconds apart, until it is gone.
 * - `removeAtEnd(path)` and `runAtEnd({ command, args, env, cwd })` are done once all processes are gone.
 * - `stop()` ends everything and resolves when that is done.
 */
export function startKeeper() {
  const keeper = spawnProcess(
    process.execPath,
    [fileURLToPath(new URL('keeper-process.mjs', import.meta.url))],
    // Its own session: Ctrl-C in a terminal must reach us, not the one that tidies up after us.
    { detached: true, stdio: ['pipe', 'pipe', 'inherit'] },
  );
  // A keeper that is gone is noticed by its exit.
  keeper.stdin.on('error', () => undefined);
  const tell = (message) => keeper.stdin.write(`${JSON.stringify(message)}\n`);
  const kept = new Map();
  let lastId = 0;

  const ended = new Promise((resolve) => keeper.once('close', resolve));
  void ended.then(() => {
    for (const process of kept.values())
      process.failed(new Error('the process that keeps our services died'));
  });
  createInterface({ input: keeper.stdout }).on('line', (line) => {
    const { id, pid, error, exit } = JSON.parse(line);
    const process = kept.get(id);
    if (pid !== undefined) process.started({ pid, exited: process.exited });
    if (error !== undefined) process.failed(new Error(error));
    if (exit !== undefined) process.gone(exit);
  });

  function spawn(request) {
    const id = ++lastId;
    return new Promise((started, failed) => {
      let gone;
      const exited = new Promise((resolve) => (gone = resolve));
      kept.set(id, { started, failed, exited, gone });
      tell({ id, spawn: request });
    });
  }

  async function stop() {
    keeper.stdin.end();
    await ended;
  }

  return {
    spawn,
    stop,
    removeAtEnd: (path) => tell({ remove: path }),
    runAtEnd: (command) => tell({ run: command }),
  };
}
