import type { Secret } from '../../domain/card.ts';

/** One POST. The body is a secret: it carries a card. */
export interface PostRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Secret;
}

/** One GET. */
export type GetRequest = Omit<PostRequest, 'body'>;

/** What became of one request, as a plain value. */
export interface Exchange {
  /**
   * Whether the request began to be written to a connection. False proves that the other side never saw it and
   * never will; the error code alone proves nothing (`ECONNRESET` and a timeout occur before and after). Only
   * followed for a POST.
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

export const MAX_BODY_BYTES = 1024 * 1024;
