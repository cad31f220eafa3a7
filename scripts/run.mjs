import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';

/** The project folder, whatever folder a script was called from. */
export const projectFolder = fileURLToPath(new URL('..', import.meta.url));

export const progress = (line) => console.error(`cardauth: ${line}`);

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/**
 * Runs a command in the project folder with our own stdout and stderr, to its end. Resolves to its exit
 * code, which for an end by a signal is 128 + the signal's number, as in a shell.
 *
 * Signals to us meanwhile are left to the command to answer, and we go on when it has ended. (At any other
 * time they end us at once, and services/keeper.mjs ends what we started.)
 */
export function run(command, args, env = process.env) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: projectFolder, env, stdio: ['ignore', 'inherit', 'inherit'] });
    const passOn = (signal) => {
      // Ctrl-C in a terminal has reached the command already; a second one would mean "at once".
      if (signal === 'SIGTERM' || !process.stdin.isTTY) child.kill(signal);
    };
    for (const signal of signals) process.on(signal, passOn);
    const finish = (settle) => {
      for (const signal of signals) process.off(signal, passOn);
      settle();
    };
    child.once('error', (error) =>
      finish(() => reject(new Error(`${command} could not be started: ${error.message}`))),
    );
    child.once('exit', (code, signal) => finish(() => resolve(code ?? 128 + constants.signals[signal])));
  });
}

/** Runs `main`, exits with the code it returns, and turns what it throws into a message and a code. */
export async function exitWith(main) {
  try {
    process.exitCode = await main();
  } catch (error) {
    progress(error.message);
    process.exitCode = error.exitCode ?? 1;
  }
}
