import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

/** A server that hands over each whole HTTP request as text and leaves the answer, byte by byte, to the test. */
export interface RawServer {
  readonly origin: string;
  readonly port: number;
  /** Requests as they arrived, heads and bodies. */
  readonly requests: readonly string[];
  connections(): number;
  close(): Promise<void>;
}

/** `respond` is called for each whole request; `nth` counts them from 1. */
export type Respond = (socket: Socket, request: string, nth: number) => void;

export async function startRawServer(
  respond: Respond,
  onConnect?: (socket: Socket) => void,
): Promise<RawServer> {
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  let connected = 0;
  const server = createServer((socket) => {
    connected += 1;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => socket.destroy());
    onConnect?.(socket);
    let received = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      received += chunk;
      const length = wholeRequestLength(received);
      if (length === undefined) return;
      const request = received.slice(0, length);
      received = received.slice(length);
      requests.push(request);
      respond(socket, request, requests.length);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    port,
    requests,
    connections: () => connected,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        for (const socket of sockets) socket.destroy();
      }),
  };
}

/** A whole answer with its length. */
export function httpAnswer(
  status: number,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): string {
  const all = {
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(body)),
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} Word\r\n${lines.join('')}\r\n${body}`;
}

export function bodyOf(request: string): string {
  return request.slice(request.indexOf('\r\n\r\n') + 4);
}

export function headerOf(request: string, name: string): string | undefined {
  const head = request.slice(0, request.indexOf('\r\n\r\n'));
  const line = head.split('\r\n').find((entry) => entry.toLowerCase().startsWith(`${name.toLowerCase()}: `));
  return line?.slice(name.length + 2);
}

/** A port of the loopback on which nobody listens. */
export async function unusedPort(): Promise<number> {
  const server = await startRawServer(() => undefined);
  await server.close();
  return server.port;
}

function wholeRequestLength(text: string): number | undefined {
  const end = text.indexOf('\r\n\r\n');
  if (end === -1) return undefined;
  const whole = end + 4 + Number(headerOf(text, 'content-length') ?? 0);
  return text.length >= whole ? whole : undefined;
}
