import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import type { Charge } from './read-request.ts';

/** What the gateway says of a round. */
export interface GatewayCounts {
  /** Orders that were charged at least once. */
  readonly orders: number;
  /** Charges beyond the first of their orders: under another key. */
  readonly chargedAgain: number;
  /** All requests, repeated ones included. */
  readonly requests: number;
}

/** Milliseconds from a request's arrival to its answer. */
export interface GatewayLatency {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface Approval {
  readonly id: string;
  readonly createdAtMs: number;
  readonly charge: Charge;
}

/** Who was charged, under which key, when: one approval a key, as gateways do. */
export class GatewayBooks {
  readonly #byKey = new Map<string, Approval>();
  readonly #byOrder = new Map<string, readonly Approval[]>();
  readonly #chargedAtMs: number[] = [];
  readonly #latency: RecordableHistogram = createHistogram();
  #chargedAgain = 0;
  #requests = 0;

  /** The approval of a charge: a new one, or again the one of its key. */
  charge(charge: Charge): Approval {
    const { orderId, idempotencyKey } = charge;
    this.#requests += 1;
    const earlier = this.#byKey.get(idempotencyKey);
    if (earlier !== undefined) return earlier;
    const atMs = performance.timeOrigin + performance.now();
    const approval = { id: `pi_bench${atMs.toFixed(0)}n${this.#byKey.size}`, createdAtMs: atMs, charge };
    this.#byKey.set(idempotencyKey, approval);
    const before = this.ofOrder(orderId);
    if (before.length > 0) this.#chargedAgain += 1;
    this.#byOrder.set(orderId, [...before, approval]);
    this.#chargedAtMs.push(atMs);
    return approval;
  }

  /** Oldest first. */
  ofOrder(orderId: string): readonly Approval[] {
    return this.#byOrder.get(orderId) ?? [];
  }

  /** Latency counts from here. */
  forgetLatency(): void {
    this.#latency.reset();
  }

  answered(afterMs: number): void {
    this.#latency.record(Math.max(1, Math.round(afterMs * 1000)));
  }

  get counts(): GatewayCounts {
    return { orders: this.#byOrder.size, chargedAgain: this.#chargedAgain, requests: this.#requests };
  }

  get latency(): GatewayLatency {
    return {
      p50Ms: this.#latency.percentile(50) / 1000,
      p99Ms: this.#latency.percentile(99) / 1000,
    };
  }

  /** When each charge was made, in milliseconds since the epoch, in that order. */
  get chargedAtMs(): readonly number[] {
    return this.#chargedAtMs;
  }
}
