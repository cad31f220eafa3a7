import { subscribe } from 'node:diagnostics_channel';
import { Pool } from 'undici';
import type { Dispatcher } from 'undici';
import { Secret } from '../../domain/card.ts';
import { MAX_BODY_BYTES } from './http-exchange.ts';
import type { AnswerHeaders, Exchange, GetRequest, PostRequest } from './http-exchange.ts';
import { codeOf, faultOf } from './transport-fault.ts';
import type { TransportFault } from './transport-fault.ts';
import { leftBefore, type Wall } from './wall.ts';

export interface HttpClientOptions {
  /** Scheme, host and port. */
  readonly origin: string;
  /** Connections at most; a request that finds none free waits for one, within its wall. */
  readonly connections: number;
  readonly connectTimeoutMs: number;
}

export interface HttpClient {
  /** One attempt: no redirect is followed, nothing is sent twice. Never rejects, and ends at `wall` at the latest. */
  post(request: PostRequest, wall: Wall): Promise<Exchange>;
  /** The same, for a question that changes nothing. */
  get(request: GetRequest, wall: Wall): Promise<Exchange>;
  /** Resolves when the exchanges under way have ended; later ones fail unsent. May be called again. */
  close(): Promise<void>;
}

/** Below the five seconds after which common servers close an idle connection, so that few requests race with it. */
const KEEP_ALIVE_MS = 4_000;

export function createHttpClient(options: HttpClientOptions): HttpClient {
  observeSentHeaders();
  const pool = new Pool(options.origin, {
    connections: options.connections,
    pipelining: 1,
    allowH2: false,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connect: { timeout: options.connectTimeoutMs },
    // The wall covers both; two clocks over one wait would only blur which of them ended it.
    headersTimeout: 0,
    bodyTimeout: 0,
    maxResponseSize: MAX_BODY_BYTES,
  });
  let closing: Promise<void> | undefined;
  const begin = (request: GetRequest | PostRequest, wall: Wall): Promise<Exchange> =>
    new Promise((resolve) => {
      new ExchangeInProgress(resolve).begin(pool, request, wall);
    });
  return {
    post: begin,
    get: begin,
    close: () => (closing ??= pool.close()),
  };
}

/**
 * Follows one request through undici and settles once. undici's own `request()` is not used: while a request waits
 * in the pool it does not react to its signal, so the wall would not be hard.
 */
class ExchangeInProgress implements Dispatcher.DispatchHandler {
  readonly #settle: (exchange: Exchange) => void;
  readonly #chunks: Buffer[] = [];
  #controller: Dispatcher.DispatchController | undefined;
  #head: { readonly status: number; readonly headers: AnswerHeaders } | undefined;
  #sent = false;
  #settled = false;
  #wallTimer: NodeJS.Timeout | undefined;

  constructor(settle: (exchange: Exchange) => void) {
    this.#settle = settle;
  }

  begin(pool: Pool, request: GetRequest | PostRequest, wall: Wall): void {
    const leftMs = leftBefore(wall);
    if (leftMs <= 0) {
      this.#hitWall();
      return;
    }
    this.#wallTimer = setTimeout(this.#hitWall, leftMs);
    const { path, headers } = request;
    if (!('body' in request)) {
      pool.dispatch({ method: 'GET', path, headers }, this);
      return;
    }
    const body = Buffer.from(request.body.reveal());
    inProgressByBody.set(body, this);
    pool.dispatch({ method: 'POST', path, headers, body }, this);
  }

  markSent(): void {
    this.#sent = true;
  }

  /** Called just before the request is written. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    // Settled: it waited in the pool past its wall. Started before: undici would write it a second time.
    if (this.#settled || this.#controller !== undefined) {
      controller.abort(new Error('the exchange is over'));
      return;
    }
    this.#controller = controller;
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    // Informational answers (1xx) come before the real one.
    if (status >= 200) this.#head = { status, headers: joinRepeated(headers) };
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    if (this.#head === undefined) return;
    const text = decodeStrictly(Buffer.concat(this.#chunks));
    this.#end(
      text === undefined
        ? { kind: 'cut_short', ...this.#head, fault: 'malformed', code: 'NOT_UTF8' }
        : { kind: 'answered', ...this.#head, body: new Secret(text) },
    );
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: unknown): void {
    const code = codeOf(error);
    this.#endWithout(faultOf(code), code);
  }

  readonly #hitWall = (): void => {
    this.#endWithout('timeout', 'WALL');
    // After settling, since aborting reports an error of its own. The connection is not used again.
    this.#controller?.abort(new Error('the wall was hit'));
  };

  #endWithout(fault: TransportFault, code: string): void {
    if (this.#head === undefined) {
      this.#end({ kind: 'failed', fault: fault === 'too_large' ? 'malformed' : fault, code });
    } else {
      this.#end({ kind: 'cut_short', ...this.#head, fault: fault === 'tls' ? 'connection' : fault, code });
    }
  }

  #end(result: Exchange['result']): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#chunks.length = 0;
    clearTimeout(this.#wallTimer);
    this.#settle({ sent: this.#sent || this.#head !== undefined, result });
  }
}

/** undici hands its request object to the diagnostics channel; the body buffer in it is the one we passed. */
const inProgressByBody = new WeakMap<object, ExchangeInProgress>();

let observing = false;

/** Subscribes to undici's report that a request is being written; once per process, whatever the number of clients. */
function observeSentHeaders(): void {
  if (observing) return;
  observing = true;
  subscribe('undici:client:sendHeaders', (message) => {
    const body = (message as { request?: { body?: unknown } }).request?.body;
    if (typeof body === 'object' && body !== null) inProgressByBody.get(body)?.markSent();
  });
}

function joinRepeated(headers: Record<string, string | string[] | undefined>): AnswerHeaders {
  const joined: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) joined[name.toLowerCase()] = Array.isArray(value) ? value.join(', ') : value;
  }
  return joined;
}

function decodeStrictly(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
