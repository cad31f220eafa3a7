/** The gateway as a process: charges on one port, and on another what the bench asks and tells it. */
import { createServer } from 'node:http';
import { GatewayBooks } from './gateway-books.ts';
import { startLeanGateway } from './lean-gateway.ts';

export interface GatewayTask {
  readonly chargesPort: number;
  readonly controlPort: number;
}

const { chargesPort, controlPort } = JSON.parse(process.argv[2] ?? '') as GatewayTask;

let books = new GatewayBooks();
const gateway = await startLeanGateway(chargesPort, {
  charge: (charge) => books.charge(charge),
  ofOrder: (orderId) => books.ofOrder(orderId),
  answered: (afterMs) => {
    books.answered(afterMs);
  },
});

/** By path: what it does, and what it answers as JSON. */
const controls: Readonly<Record<string, (query: URLSearchParams) => unknown>> = {
  '/begin': (query) => {
    books = new GatewayBooks();
    gateway.setLatency(Number(query.get('latencyMs')));
  },
  '/counts': () => books.counts,
  '/latency': () => books.latency,
  '/forget-latency': () => {
    books.forgetLatency();
  },
  '/charged-at': () => books.chargedAtMs,
  '/go-away': (query) => gateway.goAway(Number(query.get('forMs'))),
};

createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://127.0.0.1');
  Promise.resolve(controls[pathname]?.(searchParams)).then(
    (answer: unknown) => response.end(JSON.stringify(answer ?? null)),
    (error: unknown) => response.writeHead(500).end(JSON.stringify(String(error))),
  );
}).listen(controlPort, '127.0.0.1');
