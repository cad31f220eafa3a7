/** One HTTP request, from the first byte to the last of its answer. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Rendered } from './answer.ts';
import { readRequest, renderFor, withDialectHeaders } from './dialects.ts';
import { readBody } from './body.ts';
import { control, type ControlContext } from './control.ts';
import { deliver, hangUp, send } from './delivery.ts';
import { edgeAnswer } from './edge-faults.ts';
import { isEdgeFault, isWireFault, type EdgeFault, type Fault } from './fault-script.ts';
import { execute, orderIdOfRequest, type GatewayContext } from './gateway.ts';
import type { GatewayRequest } from './gateway-request.ts';
import type { Ledger } from './ledger.ts';
import type { LoggedRequest } from './request-log.ts';

export interface ExchangeContext extends GatewayContext, ControlContext {
  readonly ledger: Ledger;
  /** An unused id: `req_...`. */
  readonly newRequestId: () => string;
}

export async function exchange(
  incoming: IncomingMessage,
  response: ServerResponse,
  context: ExchangeContext,
): Promise<void> {
  const body = await readBody(incoming);
  if (body === 'gone') return;
  if (body === 'too-large') {
    send(response, { status: 413, headers: { Connection: 'close' }, body: '' });
    return;
  }
  const { method = 'GET', url: target = '/', headers } = incoming;
  const controlled = target.startsWith('/__') ? control(method, target, body.text, context) : undefined;
  if (controlled !== undefined) send(response, controlled);
  else await askGateway(readRequest({ method, target, headers, body: body.text }), response, context);
}

async function askGateway(
  request: GatewayRequest,
  response: ServerResponse,
  context: ExchangeContext,
): Promise<void> {
  const { logged, fault } = arrive(request, context);
  followUp(logged, response, context);
  if (fault !== undefined && isEdgeFault(fault)) {
    const passed = await meetEdge(fault, request, response, context);
    if (!passed) return;
  }
  const { answer, replayed } = await execute(request, fault, context);
  logged.replayed = replayed;
  const onTheWire = fault !== undefined && isWireFault(fault) ? fault : undefined;
  const rendered = renderFor(request.dialect, answer);
  deliver(response, withApiHeaders(rendered, request, context, replayed), onTheWire, context.holds);
}

/** Counts the request and lets the fault script look at it. */
function arrive(
  request: GatewayRequest,
  context: ExchangeContext,
): { logged: LoggedRequest; fault: Fault | undefined } {
  const { method, path, operation, idempotencyKey, last4 } = request;
  const nowMs = context.now();
  const orderId = orderIdOfRequest(request, context);
  const nth = idempotencyKey === undefined ? 0 : context.keys.arrived(idempotencyKey, nowMs);
  const fault = context.faults.meet({ method, path, orderId, last4, idempotencyKey, nth });
  const logged: LoggedRequest = {
    at: new Date(nowMs).toISOString(),
    method,
    path: publicPath(request),
    orderId: withoutCard(orderId, request),
    idempotencyKey: withoutCard(idempotencyKey, request),
    nth,
    fault: fault?.kind ?? null,
    status: null,
    replayed: false,
    state: 'open',
  };
  context.log.arrived(logged, operation.name === 'charge');
  return { logged, fault };
}

function followUp(logged: LoggedRequest, response: ServerResponse, { log }: ExchangeContext): void {
  const end = (state: 'answered' | 'broken') => (): void => {
    if (response.headersSent) logged.status = response.statusCode;
    log.ended(logged, state);
  };
  response.once('finish', end('answered'));
  response.once('close', end('broken'));
}

/** Resolves with whether the request may go on to the gateway; if not, it has been dealt with. */
async function meetEdge(
  fault: EdgeFault,
  request: GatewayRequest,
  response: ServerResponse,
  context: ExchangeContext,
): Promise<boolean> {
  switch (fault.kind) {
    case 'drop-before-charge':
      hangUp(response, fault.reset === true);
      return false;
    case 'hold-before-charge':
      return (await context.holds.hold(response)) === 'released';
    default:
      send(response, withApiHeaders(edgeAnswer(fault, request), request, context, false));
      return false;
  }
}

function withApiHeaders(
  rendered: Rendered,
  request: GatewayRequest,
  { newRequestId }: ExchangeContext,
  replayed: boolean,
): Rendered {
  return withDialectHeaders(rendered, request, { requestId: newRequestId(), replayed });
}

/** Without ids, and without what might be a card number in a place where nobody expects one. */
function publicPath({ dialect, operation, path }: GatewayRequest): string {
  if (operation.name === 'cancel' && dialect === 'adyen') return '/payments/:id/cancels';
  if (operation.name === 'retrieve') return '/v1/payment_intents/:id';
  if (operation.name === 'cancel') return '/v1/payment_intents/:id/cancel';
  return path.slice(0, 200).replaceAll(/\d{12,}/g, ':digits');
}

function withoutCard(text: string | undefined, { cardNumber }: GatewayRequest): string | null {
  if (text === undefined) return null;
  const leaks = cardNumber !== undefined && cardNumber.length >= 12 && text.includes(cardNumber);
  return leaks ? '(holds the card number)' : text.slice(0, 255);
}
