/**
 * A payment gateway that costs next to nothing, so that the contestants are compared and not it: one kind of request,
 * read off the socket with no more of HTTP than they send; the simulator's approval as the answer, after a fixed time.
 * It keeps the books that each round is judged by.
 */
import { createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { intentBody } from '../../src/simulator/payment-intent.ts';
import type { GatewayBooks } from './gateway-books.ts';
import { readCharge, type Charge } from './read-charge.ts';

export interface LeanGateway {
  /** Between a request's arrival and its answer; later requests have the new one. */
  setLatency(latencyMs: number): void;
  /** Cuts all connections and takes none for so long. */
  goAway(forMs: number): Promise<void>;
}

export type Books = Pick<GatewayBooks, 'charge' | 'answered'>;

export async function startLeanGateway(port: number, books: Books): Promise<LeanGateway> {
  const sockets = new Set<Socket>();
  let latencyMs = 0;

  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    // A client that hangs up is a contestant that ended or was killed.
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    onCharges(socket, (charge) => {
      const arrivedMs = performance.now();
      setTimeout(() => {
        if (socket.destroyed) return;
        socket.write(answerTo(charge, books));
        books.answered(performance.now() - arrivedMs);
      }, latencyMs);
    });
  });
  await listen(server, port);

  return {
    setLatency: (ms) => (latencyMs = ms),
    async goAway(forMs) {
      server.close();
      for (const socket of sockets) socket.destroy();
      await sleep(forMs);
      await listen(server, port);
    },
  };
}

/** Requests of one connection come one after the other, each in one or several pieces. */
function onCharges(socket: Socket, onCharge: (charge: Charge) => void): void {
  let received: Buffer = Buffer.alloc(0);
  socket.on('data', (piece: Buffer) => {
    received = received.length === 0 ? piece : Buffer.concat([received, piece]);
    for (;;) {
      const read = readCharge(received);
      if (read === undefined) return;
      received = received.subarray(read.bytes);
      onCharge(read.charge);
    }
  });
}

function answerTo(charge: Charge, books: Books): string {
  const { id, createdAtMs } = books.charge(charge);
  const body = JSON.stringify(
    intentBody(
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
    ),
  );
  return (
    'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n' +
    `request-id: req_${id}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
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
