/**
 * A payment gateway that costs next to nothing, so that the contestants are compared and not it: the requests that they
 * make, read off the socket with no more of HTTP than they send; the simulator's approval as the answer to a charge,
 * after a fixed time.
 * It keeps the books that each round is judged by.
 */
import { createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { intentBody } from '../../src/simulator/payment-intent.ts';
import type { Approval, GatewayBooks } from './gateway-books.ts';
import { readRequest, type GatewayRequest } from './read-request.ts';

export interface LeanGateway {
  /** Between a request's arrival and its answer; later requests have the new one. */
  setLatency(latencyMs: number): void;
  /** Cuts all connections and takes none for so long. */
  goAway(forMs: number): Promise<void>;
  /** Cuts all connections, for good. */
  close(): void;
}

export type Books = Pick<GatewayBooks, 'charge' | 'ofOrder' | 'answered'>;

export async function startLeanGateway(port: number, books: Books): Promise<LeanGateway> {
  const sockets = new Set<Socket>();
  let latencyMs = 0;

  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    // A client that hangs up is a contestant that ended or was killed.
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    onRequests(socket, (request) => {
      const arrivedMs = performance.now();
      setTimeout(() => {
        if (socket.destroyed) return;
        socket.write(answerTo(request, books));
        books.answered(performance.now() - arrivedMs);
      }, latencyMs);
    });
  });
  await listen(server, port);

  const close = (): void => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  return {
    setLatency: (ms) => (latencyMs = ms),
    async goAway(forMs) {
      close();
      await sleep(forMs);
      await listen(server, port);
    },
    close,
  };
}

/** Requests of one connection come one after the other, each in one or several pieces. */
function onRequests(socket: Socket, onRequest: (request: GatewayRequest) => void): void {
  let received: Buffer = Buffer.alloc(0);
  socket.on('data', (piece: Buffer) => {
    received = received.length === 0 ? piece : Buffer.concat([received, piece]);
    for (;;) {
      const read = readRequest(received);
      if (read === undefined) return;
      received = received.subarray(read.bytes);
      onRequest(read.request);
    }
  });
}

function answerTo(request: GatewayRequest, books: Books): string {
  if (request.kind === 'charge') {
    const approval = books.charge(request.charge);
    return answer(approval.id, intentOf(approval));
  }
  const found = books.ofOrder(request.orderId).map(intentOf);
  return answer(request.orderId, { object: 'search_result', data: found, has_more: false, next_page: null });
}

function intentOf({ id, createdAtMs, charge }: Approval): object {
  return intentBody(
    {
      id,
      createdAtMs,
      status: 'requires_capture',
      amountMinor: charge.amountMinor,
      heldMinor: charge.amountMinor,
      currency: 'usd',
      captureMethod: 'manual',
      metadata: { order_id: charge.orderId, idempotency_key: charge.idempotencyKey },
    },
    true,
  );
}

function answer(requestId: string, content: object): string {
  const body = JSON.stringify(content);
  return (
    'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n' +
    `request-id: req_${requestId}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  );
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject);
      resolve();
    });
  });
}
