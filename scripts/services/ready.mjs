import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const pollMs = 50;
const probeTimeoutMs = 2_000;
const logTailLines = 25;

/**
 * Resolves when `probe()` is true. Rejects after `timeoutMs`, or as soon as `exited` says that the process
 * is gone, with the last lines of `logFile` in the message.
 */
export async function waitUntilReady({ name, probe, timeoutMs, exited, logFile }) {
  const deadline = Date.now() + timeoutMs;
  let exit;
  exited?.then((how) => (exit = how));
  while (!(await probe())) {
    if (exit) throw new Error(`${name} ended while starting (${describeExit(exit)}).${logTail(logFile)}`);
    if (Date.now() > deadline) {
      throw new Error(`${name} was not ready after ${timeoutMs / 1000} s.${logTail(logFile)}`);
    }
    await sleep(pollMs);
  }
}

export function describeExit({ code, signal }) {
  return signal ? `signal ${signal}` : `exit code ${code}`;
}

export function logTail(logFile) {
  if (logFile === undefined) return '';
  try {
    const lines = readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-logTailLines);
    return ` The end of its log:\n${lines.map((line) => `    ${line}`).join('\n')}`;
  } catch {
    return ` (${logFile} could not be read)`;
  }
}

/** True when an AMQP 0-9-1 server answers the protocol header with Connection.Start (class 10, method 10). */
export function speaksAmqp(port, host = '127.0.0.1') {
  const header = Buffer.from('AMQP\x00\x00\x09\x01', 'latin1');
  return converse({ host, port, hello: header }, (reply) => {
    if (reply.length < 11) return undefined;
    return reply[0] === 1 && reply.readUInt16BE(7) === 10 && reply.readUInt16BE(9) === 10;
  });
}

/** True when PostgreSQL opens a session for user and database `postgres` and is ready for a query. */
export function speaksPostgres(port, host = '127.0.0.1') {
  const parameters = Buffer.from('user\0postgres\0database\0postgres\0\0');
  const head = Buffer.alloc(8);
  head.writeUInt32BE(head.length + parameters.length, 0);
  head.writeUInt32BE(0x0003_0000, 4);
  return converse({ host, port, hello: Buffer.concat([head, parameters]) }, (reply) => {
    for (let at = 0; at + 5 <= reply.length; at += 1 + reply.readUInt32BE(at + 1)) {
      if (reply[at] === 0x5a /* Z: ready for query */) return true;
      if (reply[at] === 0x45 /* E: error */) return false;
    }
    return undefined;
  });
}

/** Sends `hello` and gives `judge` all that came back so far, until it answers true or false. */
function converse({ host, port, hello }, judge) {
  return new Promise((resolve) => {
    let reply = Buffer.alloc(0);
    const socket = connect({ host, port });
    const answer = (verdict) => {
      resolve(verdict);
      socket.destroy();
    };
    socket.setTimeout(probeTimeoutMs, () => answer(false));
    socket.once('connect', () => socket.write(hello));
    socket.once('error', () => answer(false));
    socket.once('close', () => answer(false));
    socket.on('data', (chunk) => {
      reply = Buffer.concat([reply, chunk]);
      const verdict = judge(reply);
      if (verdict !== undefined) answer(verdict);
    });
  });
}
