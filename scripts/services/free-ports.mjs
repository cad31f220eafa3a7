import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

// Below the range that kernels take outgoing ports from, so that nobody's connection gets ours meanwhile.
const lowest = 15_000;
const highest = 32_000;
const attempts = 200;

/** Different TCP ports that nothing listens on at 127.0.0.1. */
export async function freePorts(count) {
  const ports = new Set();
  for (let attempt = 0; attempt < attempts && ports.size < count; attempt++) {
    const port = randomInt(lowest, highest);
    if (await isFree(port)) ports.add(port);
  }
  if (ports.size < count)
    throw new Error(`no ${count} free TCP ports between ${lowest} and ${highest} on 127.0.0.1`);
  return [...ports];
}

function isFree(port) {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
