import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/**
 * The keeper is a process of its own that starts everything we start and ends it when we end, however we
 * end: `stop()`, Ctrl-C, a crash or kill -9. It notices by the closing of the channel between us, so no
 * service, temporary directory or container outlives the command that asked for it.
 *
 * - `spawn({ command, args, env, cwd, uid, gid, logFile, stopSignals })` starts a process whose output goes
 *   to `logFile`; its handle has `pid` and `exited`, a promise of `{ code, signal }`. `stopSignals` are sent
 *   one after the other, five seconds apart, until it is gone.
 * - `removeAtEnd(path)` and `runAtEnd({ command, args, env, cwd })` are done once all processes are gone.
 * - `stop()` ends everything and resolves when that is done.
 */
export function startKeeper() {
  const keeper = fork(fileURLToPath(new URL('keeper-process.mjs', import.meta.url)), {
    // Its own session: Ctrl-C in a terminal must reach us, not the one that tidies up after us.
    detached: true,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const ended = new Promise((resolve) => keeper.once('exit', resolve));
  const waiting = new Map();
  let lastId = 0;

  keeper.on('message', ({ id, pid, error, exit }) => {
    const process = waiting.get(id);
    if (pid !== undefined) process.started({ pid, exited: process.exited });
    if (error !== undefined) process.failed(new Error(error));
    if (exit !== undefined) process.gone(exit);
  });

  function spawn(request) {
    const id = ++lastId;
    return new Promise((started, failed) => {
      let gone;
      const exited = new Promise((resolve) => (gone = resolve));
      waiting.set(id, { started, failed, exited, gone });
      keeper.send({ id, spawn: request });
    });
  }

  async function stop() {
    if (keeper.connected) keeper.disconnect();
    await ended;
  }

  return {
    spawn,
    stop,
    removeAtEnd: (path) => keeper.send({ remove: path }),
    runAtEnd: (command) => keeper.send({ run: command }),
  };
}
