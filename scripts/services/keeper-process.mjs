// The other side of keeper.mjs: started by it, and ends everything when its stdin ends.
// (Not a channel of Node's: one that closes before this file has run says nothing about it.)
import { spawn, spawnSync } from 'node:child_process';
import { closeSync, openSync, rmSync } from 'node:fs';
import { createInterface } from 'node:readline';

const graceMs = 5_000;
const commandTimeoutMs = 60_000;

const running = new Map();
const commandsAtEnd = [];
const pathsAtEnd = [];
let ending = false;

// A parent that died is the usual reason for us to be ending; there is then no one left to tell.
process.stdout.on('error', () => undefined);
const requests = createInterface({ input: process.stdin });
requests.on('line', (line) => {
  const message = JSON.parse(line);
  if (message.spawn) start(message.id, message.spawn);
  if (message.remove) pathsAtEnd.push(message.remove);
  if (message.run) commandsAtEnd.push(message.run);
});
requests.on('close', endEverything);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, endEverything);

function start(id, { command, args, env, cwd, uid, gid, logFile, stopSignals }) {
  const log = openSync(logFile, 'a');
  const child = spawn(command, args, { env, cwd, uid, gid, detached: true, stdio: ['ignore', log, log] });
  closeSync(log);

  const gone = new Promise((resolve) => {
    child.once('error', (error) => {
      tell({ id, error: `${command} could not be started: ${error.message}` });
      resolve();
    });
    child.once('exit', (code, signal) => {
      running.delete(id);
      tell({ id, exit: { code, signal } });
      resolve();
    });
  });
  if (child.pid === undefined) return;
  running.set(id, { pid: child.pid, gone, stopSignals });
  tell({ id, pid: child.pid });
}

async function endEverything() {
  if (ending) return;
  ending = true;
  await Promise.all([...running.values()].map(endProcess));
  for (const { command, args, env, cwd } of commandsAtEnd) {
    spawnSync(command, args, { env, cwd, stdio: 'ignore', timeout: commandTimeoutMs });
  }
  for (const path of pathsAtEnd) rmSync(path, { recursive: true, force: true, maxRetries: 10 });
  process.exit();
}

async function endProcess({ pid, gone, stopSignals }) {
  for (const signal of stopSignals) {
    signalGroup(pid, signal);
    const timedOut = new Promise((resolve) => setTimeout(resolve, graceMs, true));
    if (!(await Promise.race([gone, timedOut]))) return;
  }
}

function signalGroup(pid, signal) {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

function tell(message) {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}
