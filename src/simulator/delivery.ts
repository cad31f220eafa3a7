/** How an answer reaches the client, or fails to. */
import type { ServerResponse } from 'node:http';
import type { Rendered } from './answer.ts';
import { BAD_GATEWAY } from './edge-faults.ts';
import type { DeliveryFault } from './fault-script.ts';
import type { Holds } from './holds.ts';

/** Sends the answer, bent by a fault. Returns at once; the client may be kept waiting much longer. */
export function deliver(
  response: ServerResponse,
  answer: Rendered,
  fault: DeliveryFault | undefined,
  holds: Holds,
): void {
  switch (fault?.kind) {
    case undefined:
      send(response, answer);
      return;
    case 'charge-then-drop':
      hangUp(response, fault.reset === true);
      return;
    case 'hold':
      void holds.hold(response).then((end) => {
        if (end === 'released') send(response, answer);
      });
      return;
    case 'stalled-headers':
      response.socket?.write(`HTTP/1.1 ${answer.status} OK\r\nContent-Type: applicat`);
      void holds.hold(response).then(() => {
        hangUp(response);
      });
      return;
    case 'stalled-body':
      sendHalf(response, answer);
      void holds.hold(response).then(() => {
        response.end(secondHalf(answer));
      });
      return;
    case 'cut-body':
      sendHalf(response, answer, () => {
        hangUp(response);
      });
      return;
    case 'garbage':
      sendGarbage(response, answer, fault.where ?? 'wire');
      return;
    case 'html-502':
      send(response, BAD_GATEWAY);
      return;
    case 'empty-body':
      send(response, { ...answer, body: '' });
      return;
    case 'wrong-content-type':
      send(response, { ...answer, headers: { ...answer.headers, 'Content-Type': 'text/plain' } });
      return;
    case 'huge-body':
      send(response, { ...answer, body: padded(answer.body, fault.bytes ?? 2 * 1024 * 1024) });
      return;
  }
}

/** @param reset a TCP reset instead of an orderly end. */
export function hangUp(response: ServerResponse, reset = false): void {
  if (reset) response.socket?.resetAndDestroy();
  else response.socket?.destroy();
}

export function send(response: ServerResponse, { status, headers, body }: Rendered): void {
  response.writeHead(status, { ...headers, 'Content-Length': Buffer.byteLength(body) });
  response.end(body);
}

function sendHalf(response: ServerResponse, { status, headers, body }: Rendered, sent?: () => void): void {
  response.writeHead(status, { ...headers, 'Content-Length': Buffer.byteLength(body) });
  response.write(body.slice(0, half(body)), sent);
}

function secondHalf({ body }: Rendered): string {
  return body.slice(half(body));
}

function half(body: string): number {
  return Math.floor(body.length / 2);
}

function sendGarbage(response: ServerResponse, answer: Rendered, where: 'wire' | 'body'): void {
  if (where === 'body') send(response, { ...answer, body: `{"id": "pi_${'\u0000'.repeat(8)}` });
  else response.socket?.end('\u0015\u0003\u0001 this is no HTTP\r\n\r\n');
}

/** Still the same JSON object, with one member more. */
function padded(body: string, bytes: number): string {
  const padding = Math.max(0, bytes - body.length - '"padding":"",'.length);
  return `{"padding":"${'x'.repeat(padding)}",${body.slice(1)}`;
}
