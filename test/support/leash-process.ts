// Started by worker-process.ts in a session of its own, which tells it in JSON lines what it started. Its
// stdin ends when that process is gone, also by kill -9; whatever has not ended by then is killed.
import { createInterface } from 'node:readline';

export type LeashMessage = { readonly started: number } | { readonly ended: number };

const running = new Set<number>();

createInterface({ input: process.stdin })
  .on('line', (line) => {
    const message = JSON.parse(line) as LeashMessage;
    if ('started' in message) running.add(message.started);
    else running.delete(message.ended);
  })
  .on('close', () => {
    for (const pid of running) kill(pid);
  });

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended by itself.
  }
}
