import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import Stripe from 'stripe';
import type { FaultScript } from '../../src/simulator/fault-script.ts';
import type { ApprovalEntry, LedgerEntry } from '../../src/simulator/ledger.ts';
import type { LoggedRequest, RequestCounts } from '../../src/simulator/request-log.ts';
import { startSimulator, type Simulator, type SimulatorOptions } from '../../src/simulator/simulator.ts';

export interface TestSimulator extends Simulator {
  readonly ledgerFile: string;
}

/** A simulator of the test's own, on a free port, gone when the test ends. */
export async function openSimulator(
  t: TestContext,
  options: Partial<SimulatorOptions> = {},
): Promise<TestSimulator> {
  const ledgerFile = options.ledgerFile ?? join(temporaryDirectory(t), 'ledger.jsonl');
  const simulator = await startSimulator({ port: 0, ...options, ledgerFile });
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= simulator.close());
  t.after(close);
  return { ...simulator, close, ledgerFile };
}

export function temporaryDirectory(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'simulator-'));
  t.after(() => {
    rmSync(directory, { recursive: true });
  });
  return directory;
}

/** The official client, without retries of its own. */
export function officialClient({ port }: Simulator): Stripe {
  return new Stripe('sk_test_simulator', {
    host: '127.0.0.1',
    port,
    protocol: 'http',
    maxNetworkRetries: 0,
    telemetry: false,
  });
}

export const VISA = '4242424242424242';
export const UNIONPAY_19 = '6205500000000000004';

export interface ChargeInput {
  readonly orderId?: string;
  readonly number?: string;
  readonly amountMinor?: number;
  readonly currency?: string;
  readonly expMonth?: number;
  readonly expYear?: number;
  readonly cvc?: string;
  /** A test token instead of the card. */
  readonly token?: string;
  /** The cardholder is there. */
  readonly attended?: boolean;
}

export function cardCharge(input: ChargeInput = {}) {
  const card = {
    number: input.number ?? VISA,
    exp_month: input.expMonth ?? 12,
    exp_year: input.expYear ?? 2034,
    cvc: input.cvc ?? '123',
  };
  return {
    amount: input.amountMinor ?? 4223,
    currency: input.currency ?? 'usd',
    capture_method: 'manual' as const,
    confirm: true,
    ...(input.attended === true ? {} : { off_session: true }),
    // Raw cards are left out of the official types, but not out of the API.
    ...(input.token === undefined
      ? { payment_method_data: { type: 'card' as const, card } }
      : { payment_method: input.token }),
    metadata: { order_id: input.orderId ?? '1234' },
  };
}

/** How long a test waits for what must come; far more than it ever takes. */
const PATIENCE_MS = 10_000;

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** One request on a connection of its own. Rejects when no complete answer comes. */
export function ask(
  simulator: Simulator,
  method: string,
  path: string,
  { headers = {}, body = '', signal }: AskOptions = {},
): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const length = method === 'GET' ? {} : { 'Content-Length': Buffer.byteLength(body) };
    const request = httpRequest(
      `${simulator.url}${path}`,
      { method, agent: false, headers: { ...length, ...headers }, ...(signal ? { signal } : {}) },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.once('error', reject);
        response.once('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
        });
      },
    );
    request.once('error', reject);
    request.setTimeout(PATIENCE_MS, () => request.destroy(new Error(`no answer within ${PATIENCE_MS} ms`)));
    request.end(body);
  });
}

interface AskOptions {
  readonly headers?: Record<string, string>;
  readonly body?: string;
  readonly signal?: AbortSignal;
}

/** A charge as an HTTP client without any Stripe knowledge sends it; the key is `order-<id>-1` by default. */
export function postCharge(
  simulator: Simulator,
  input: ChargeInput = {},
  options: { key?: string | null; signal?: AbortSignal } = {},
): Promise<HttpAnswer> {
  const key = options.key === undefined ? `order-${input.orderId ?? '1234'}-1` : options.key;
  return ask(simulator, 'POST', '/v1/payment_intents', {
    headers: { ...AUTHORIZED, ...(key === null ? {} : { 'Idempotency-Key': key }) },
    body: encodeForm(cardCharge(input)),
    ...(options.signal ? { signal: options.signal } : {}),
  });
}

export const AUTHORIZED = {
  Authorization: 'Bearer sk_test_simulator',
  'Content-Type': 'application/x-www-form-urlencoded',
};

export function encodeForm(params: object): string {
  return new URLSearchParams(flatten(params)).toString();
}

function flatten(params: object, prefix = ''): [string, string][] {
  return Object.entries(params).flatMap(([name, value]: [string, unknown]): [string, string][] => {
    const path = prefix === '' ? name : `${prefix}[${name}]`;
    if (typeof value === 'object' && value !== null) return flatten(value, path);
    return [[path, String(value)]];
  });
}

/** All bytes the simulator sends back on a raw connection until it ends, or until `enough` of them came. */
export function rawCharge(
  simulator: Simulator,
  input: ChargeInput,
  enough: (received: string) => boolean = () => false,
): Promise<{ received: string; end: 'closed' | 'reset' | 'enough' }> {
  return new Promise((resolve, reject) => {
    const body = encodeForm(cardCharge(input));
    const socket = connect(simulator.port, '127.0.0.1');
    let received = '';
    const finish = (end: 'closed' | 'reset' | 'enough'): void => {
      socket.destroy();
      resolve({ received, end });
    };
    socket.setTimeout(PATIENCE_MS, () => {
      socket.destroy();
      reject(new Error(`after ${PATIENCE_MS} ms neither the end nor enough, but: ${received.length} bytes`));
    });
    socket.setEncoding('latin1');
    socket.on('data', (chunk: string) => {
      received += chunk;
      if (enough(received)) finish('enough');
    });
    socket.once('end', () => {
      finish('closed');
    });
    socket.once('error', () => {
      finish('reset');
    });
    socket.write(
      'POST /v1/payment_intents HTTP/1.1\r\nHost: simulator\r\nAuthorization: Bearer sk_test_simulator\r\n' +
        `Idempotency-Key: order-${input.orderId ?? '1234'}-1\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
  });
}

export function ledgerOf({ ledgerFile }: TestSimulator): LedgerEntry[] {
  const lines = readFileSync(ledgerFile, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as LedgerEntry);
}

export function approvalsOf(simulator: TestSimulator): ApprovalEntry[] {
  return ledgerOf(simulator).filter((entry) => entry.kind === 'approval');
}

export async function requestsOf(
  simulator: Simulator,
  orderId?: string,
): Promise<{ counts: RequestCounts; recent: LoggedRequest[] }> {
  const query = orderId === undefined ? '' : `?orderId=${encodeURIComponent(orderId)}`;
  const { text } = await ask(simulator, 'GET', `/__requests${query}`);
  return JSON.parse(text) as { counts: RequestCounts; recent: LoggedRequest[] };
}

/** Waits until the simulator's own log says so. */
export async function until(
  simulator: Simulator,
  what: string,
  holds: (log: { counts: RequestCounts; recent: LoggedRequest[] }) => boolean,
): Promise<void> {
  const deadlineMs = Date.now() + PATIENCE_MS;
  while (!holds(await requestsOf(simulator))) {
    assert.ok(Date.now() < deadlineMs, `after ${PATIENCE_MS} ms still not: ${what}`);
  }
}

export async function release(simulator: Simulator): Promise<number> {
  const { text } = await ask(simulator, 'POST', '/__release');
  return (JSON.parse(text) as { released: number }).released;
}

export function fault(rule: FaultScript[number]): { faults: FaultScript } {
  return { faults: [rule] };
}

export function parsed(answer: HttpAnswer): Record<string, unknown> {
  return JSON.parse(answer.text) as Record<string, unknown>;
}

export function errorOf(answer: HttpAnswer): Record<string, unknown> {
  return parsed(answer)['error'] as Record<string, unknown>;
}
