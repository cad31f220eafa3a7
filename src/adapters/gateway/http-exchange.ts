import { subscribe } from 'node:diagnostics_channel';
import { errors, Pool } from 'undici';
import type { Dispatcher } from 'undici';
import { Secret } from '../../domain/card.ts';

/** One POST. The body is a secret: it carries a card. */
export interface PostRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Secret;
}

/** What became of one POST, as a plain value. */
export interface Exchange {
  /**
   * Whether the request began to be written to a connection. False proves that the other side never saw it and
   * never will; the error code alone proves nothing (`ECONNRESET` and a timeout occur before and after).
   */
  readonly sent: boolean;
  readonly result: Answered | CutShort | Failed;
}

export interface Answered {
  readonly kind: 'answered';
  readonly status: number;
  readonly headers: AnswerHeaders;
  /** At most MAX_BODY_BYTES, decoded as strict UTF-8. A secret: gateways echo card numbers. */
  readonly body: Secret;
}

/** Status and headers arrived; the body did not, or not wholly, or not as UTF-8. */
export interface CutShort {
  readonly kind: 'cut_short';
  readonly status: number;
  readonly headers: AnswerHeaders;
  readonly fault: 'timeout' | 'connection' | 'malformed' | 'too_large';
  /** The error's code, `[A-Z0-9_]`. */
  readonly code: string;
}

export interface Failed {
  readonly kind: 'failed';
  readonly fault: 'timeout' | 'connection' | 'malformed' | 'tls';
  readonly code: string;
}

/** Lower-case names; repeated headers are joined with a comma. */
export type AnswerHeaders = Readonly<Record<string, string>>;

export interface HttpClientOptions {
  /** Scheme, host and port. */
  readonly origin: string;
  /** Connections at most; a request that finds none free waits for one, within its wall. */
  readonly connections: number;
  readonly connectTimeoutMs: number;
}

export interface HttpClient {
  /** One attempt: no redirect is followed, nothing is sent twice. Never rejects, and ends when `wall` aborts. */
  post(request: PostRequest, wall: AbortSignal): Promise<Exchange>;
  /** Resolves when the exchanges under way have ended; later ones fail unsent. */
  close(): Promise<void>;
}

export const MAX_BODY_BYTES = 1024 * 1024;

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
  return {
    post: (request, wall) =>
      new Promise((resolve) => {
        new ExchangeInProgress(wall, resolve).begin(pool, request);
      }),
    close: () => pool.close(),
  };
}

/**
 * Follows one request through undici and settles once. undici's own `request()` is not used: while a request waits
 * in the pool it does not react to its signal, so the wall would not be hard.
 */
class ExchangeInProgress implements Dispatcher.DispatchHandler {
  readonly #wall: AbortSignal;
  readonly #settle: (exchange: Exchange) => void;
  readonly #chunks: Buffer[] = [];
  #controller: Dispatcher.DispatchController | undefined;
  #head: { readonly status: number; readonly headers: AnswerHeaders } | undefined;
  #sent = false;
  #settled = false;

  constructor(wall: AbortSignal, settle: (exchange: Exchange) => void) {
    this.#wall = wall;
    this.#settle = settle;
  }

  begin(pool: Pool, request: PostRequest): void {
    if (this.#wall.aborted) {
      this.#hitWall();
      return;
    }
    this.#wall.addEventListener('abort', this.#hitWall, { once: true });
    const body = Buffer.from(request.body.reveal());
    inProgressByBody.set(body, this);
    pool.dispatch({ method: 'POST', path: request.path, headers: request.headers, body }, this);
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

  #endWithout(fault: Fault, code: string): void {
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
    this.#wall.removeEventListener('abort', this.#hitWall);
    this.#settle({ sent: this.#sent || this.#head !== undefined, result });
  }
}

type Fault = CutShort['fault'] | Failed['fault'];

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

const UNPARSEABLE = 'NOT_HTTP';

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

function codeOf(error: unknown): string {
  // Its own code may be missing; its message and data are the answer's text.
  if (error instanceof errors.HTTPParserError) return UNPARSEABLE;
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' && /^[A-Z0-9_]{1,64}$/.test(code) ? code : 'UNKNOWN';
}

function faultOf(code: string): Fault {
  if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') return 'too_large';
  if (code === UNPARSEABLE || code === 'UND_ERR_HEADERS_OVERFLOW') return 'malformed';
  return TLS_CODE.test(code) ? 'tls' : 'connection';
}

/** Node's TLS and X.509 error codes (node:tls documentation, "X509 certificate error codes"), and OpenSSL's. */
const TLS_CODE =
  /^(ERR_TLS_|ERR_SSL_|CERT_|CRL_|UNABLE_TO_|ERROR_IN_C|DEPTH_ZERO_|SELF_SIGNED_|(EPROTO|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED)$)/;
