import { Secret } from '../../src/domain/card.ts';
import type { Order, OrderTerms } from '../../src/domain/order.ts';
import type { AuthorizationOutcome } from '../../src/domain/outcome.ts';
import type { AuthorizationRequest, Gateway } from '../../src/ports/gateway.ts';
import type { OrderMessage } from '../../src/ports/message.ts';
import type { Clock } from '../../src/topology/clock.ts';
import type { Tuple, Values } from '../../src/topology/tuple.ts';

/** Real timers at once: pauses between tries take no time in these tests. */
export const impatientClock: Clock = {
  nowMs: () => performance.now(),
  wallMs: () => Date.now(),
  setTimer: (_delayMs, callback) => immediately(callback),
  defer: immediately,
};

export function terms(orderId: string, change: Partial<OrderTerms> = {}): OrderTerms {
  return {
    orderId,
    customerId: '5678',
    amountMinor: 4223n,
    currency: 'USD',
    fingerprint: `print-${orderId}`,
    ...change,
  };
}

export function order(orderId: string, change: Partial<OrderTerms> = {}): Order {
  const card = {
    number: new Secret('4242424242424242'),
    cvv: new Secret('123'),
    expiryMonth: 12,
    expiryYear: 2030,
  };
  return { terms: terms(orderId, change), means: { kind: 'card', card } };
}

export function message(): OrderMessage {
  return {
    body: Buffer.from('{}'),
    messageId: undefined,
    contentType: 'application/json',
    correlationId: undefined,
    headers: {},
    origin: { queue: 'orders', exchange: '', routingKey: 'orders' },
    attempt: 0,
    isDecided: false,
    firstSeenMs: 0,
  };
}

/** A tuple whose tree has `remainingMs` left, read anew at every look. */
export function tuple<V extends Values>(values: V, remainingMs: () => number = () => 30_000): Tuple<V> {
  return {
    values,
    source: { component: 'test', stream: 'orders', task: 0 },
    messageId: 'test',
    remainingMs,
    signal: new AbortController().signal,
  };
}

/** Collects what a bolt emits. */
export function collector() {
  const emitted: { stream: string; values: Values }[] = [];
  return { emitted, emit: (stream: string, values: Values) => void emitted.push({ stream, values }) };
}

/** A gateway whose every answer the test gives. */
export class ScriptedGateway implements Gateway {
  readonly requests: AuthorizationRequest[] = [];
  #answers: ((outcome: AuthorizationOutcome) => void)[] = [];
  answerWith: AuthorizationOutcome | undefined;

  constructor(answerWith?: AuthorizationOutcome) {
    this.answerWith = answerWith;
  }

  authorize(request: AuthorizationRequest): Promise<AuthorizationOutcome> {
    this.requests.push(request);
    if (this.answerWith !== undefined) return Promise.resolve(this.answerWith);
    return new Promise((resolve) => this.#answers.push(resolve));
  }

  answer(outcome: AuthorizationOutcome): void {
    const answer = this.#answers.shift();
    if (answer === undefined) throw new Error('nobody waits for an answer of the gateway');
    answer(outcome);
  }
}

/** Lets everything that can go on without time or I/O go on. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
}

function immediately(callback: () => void) {
  const handle = setImmediate(callback);
  return {
    cancel: () => {
      clearImmediate(handle);
    },
  };
}
