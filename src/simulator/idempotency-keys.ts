/**
 * Stripe's rules for idempotency keys (https://docs.stripe.com/api/idempotent_requests):
 *
 * - the first answer is kept from the moment the request began executing, whatever it was, and replayed;
 * - what is refused before that (401, 429, parameters that fail validation) leaves the key free;
 * - the same key with other parameters is an error, and so is a second request while the first one runs;
 * - a key is forgotten when it is older than the retention, and then means a new request;
 * - a request without a key is always a new one.
 */
import type { Answer } from './answer.ts';

export type KeyUse =
  | { readonly kind: 'free' }
  | { readonly kind: 'in-use' | 'mismatch'; readonly key: string }
  | { readonly kind: 'replay'; readonly answer: Answer };

interface KeyRecord {
  atMs: number;
  requests: number;
  use?: KeyUseRecord;
}

interface KeyUseRecord {
  readonly paramsDigest: string;
  /** Absent while the request runs. */
  answer?: Answer;
}

export class IdempotencyKeys {
  /** Ordered by age, so the expired ones are in front. */
  readonly #records = new Map<string, KeyRecord>();
  readonly #retentionMs: number;

  constructor(retentionMs: number) {
    this.#retentionMs = retentionMs;
  }

  /** Counts a request with this key, executed or not. Returns which one it is, from 1. */
  arrived(key: string, nowMs: number): number {
    this.#forgetExpired(nowMs);
    const record = this.#records.get(key) ?? { atMs: nowMs, requests: 0 };
    if (record.requests === 0) this.#records.set(key, record);
    record.requests += 1;
    return record.requests;
  }

  /** @param paramsDigest undefined: the key alone counts, whatever it is sent with. */
  look(key: string | undefined, paramsDigest: string | undefined, nowMs: number): KeyUse {
    this.#forgetExpired(nowMs);
    if (key === undefined) return { kind: 'free' };
    const use = this.#records.get(key)?.use;
    if (use === undefined) return { kind: 'free' };
    if (paramsDigest !== undefined && use.paramsDigest !== paramsDigest) return { kind: 'mismatch', key };
    return use.answer === undefined ? { kind: 'in-use', key } : { kind: 'replay', answer: use.answer };
  }

  /**
   * The request begins executing; the retention counts from here. Returns what keeps its answer; should the
   * key expire while the request still runs, a newer use of it is left alone.
   */
  claim(key: string | undefined, paramsDigest: string, nowMs: number): (answer: Answer) => void {
    const use: KeyUseRecord = { paramsDigest };
    if (key !== undefined) {
      const requests = this.#records.get(key)?.requests ?? 0;
      this.#records.delete(key);
      this.#records.set(key, { atMs: nowMs, requests, use });
    }
    return (answer) => {
      use.answer = answer;
    };
  }

  #forgetExpired(nowMs: number): void {
    for (const [key, record] of this.#records) {
      if (nowMs - record.atMs < this.#retentionMs) return;
      this.#records.delete(key);
    }
  }
}
