import type { IncomingMessage } from 'node:http';

const MAX_BYTES = 1024 * 1024;

/** The whole body as text; `gone` when the client hung up first, `too-large` beyond 1 MiB. */
export function readBody(request: IncomingMessage): Promise<{ text: string } | 'gone' | 'too-large'> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= MAX_BYTES) chunks.push(chunk);
      else resolve('too-large');
    });
    request.once('end', () => {
      const [only] = chunks;
      resolve({ text: (chunks.length === 1 && only ? only : Buffer.concat(chunks)).toString('utf8') });
    });
    request.once('close', () => {
      resolve('gone');
    });
    request.once('error', () => {
      resolve('gone');
    });
  });
}
