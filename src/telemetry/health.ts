import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Readiness } from './readiness.ts';
import { createScrubber } from './scrubber.ts';

/**
 * What orchestrators ask. `/livez` is 200 as long as the event loop turns, and says nothing of dependencies:
 * restarting a worker does not bring a database back. `/readyz` is 200 while orders are taken in, 503 with the
 * reasons otherwise. Answers are JSON and never cached.
 */

export interface HealthServer {
  readonly host: string;
  readonly port: number;
  /** Resolves when the port is free again; open connections are cut. */
  close(): Promise<void>;
}

export interface HealthOptions {
  readonly host: string;
  /** 0 lets the system choose; whether there is a server at all is the caller's decision. */
  readonly port: number;
  /** Asked once a request; must not throw or wait. */
  readonly readiness: () => Readiness;
}

const MAX_CONNECTIONS = 64;
const MAX_REQUEST_MS = 5000;
const MAX_HEADER_BYTES = 8192;

/** Rejects when the address cannot be listened on; the message names the variables to change. */
export async function startHealthServer(options: HealthOptions): Promise<HealthServer> {
  const server = createServer(
    { maxHeaderSize: MAX_HEADER_BYTES, headersTimeout: MAX_REQUEST_MS, requestTimeout: MAX_REQUEST_MS },
    (request, response) => {
      answer(request, response, options.readiness);
    },
  );
  server.maxConnections = MAX_CONNECTIONS;
  server.keepAliveTimeout = MAX_REQUEST_MS;
  await listening(server, options);
  const { address, port } = server.address() as AddressInfo;
  return { host: address, port, close: () => closed(server) };
}

function listening(server: Server, { host, port }: HealthOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.on('error', (error: NodeJS.ErrnoException) => {
      const where = `${host}:${port} (CARDAUTH_HTTP_HOST, CARDAUTH_HTTP_PORT; port 0 switches it off)`;
      reject(
        new Error(`the health server cannot listen on ${where}: ${error.code ?? 'unknown error'}`, {
          cause: error,
        }),
      );
    });
    server.listen(port, host, resolve);
  });
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => {
      resolve();
    });
    server.closeAllConnections();
  });
}

const scrub = createScrubber([]);

function answer(request: IncomingMessage, response: ServerResponse, readiness: () => Readiness): void {
  const path = (request.url ?? '').split('?')[0];
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.setHeader('allow', 'GET, HEAD');
    send(request, response, 405, { error: 'only GET and HEAD are answered here' });
  } else if (path === '/livez') {
    send(request, response, 200, { alive: true });
  } else if (path === '/readyz') {
    const now = readiness();
    send(request, response, now.ready ? 200 : 503, now);
  } else {
    send(request, response, 404, { error: 'there are /livez and /readyz' });
  }
}

function send(request: IncomingMessage, response: ServerResponse, status: number, body: object): void {
  // A body that nobody reads would keep the connection busy.
  if (request.headers['content-length'] !== undefined || request.headers['transfer-encoding'] !== undefined) {
    response.setHeader('connection', 'close');
  }
  const text = `${scrub(JSON.stringify(body))}\n`;
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
  });
  response.end(request.method === 'HEAD' ? undefined : text);
}
