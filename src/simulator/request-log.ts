/**
 * What arrived and what became of it, for tests that wait until the gateway was asked. No card data: the path
 * is shown with `:id` for an intent's id, and without its query.
 */
export interface LoggedRequest {
  /** ISO 8601. */
  readonly at: string;
  readonly method: string;
  readonly path: string;
  readonly orderId: string | null;
  readonly idempotencyKey: string | null;
  /** Which request with its key this is, from 1; 0 without a key. */
  readonly nth: number;
  readonly fault: string | null;
  /** Null until an answer went out, and for ever when none did. */
  status: number | null;
  replayed: boolean;
  /** `open`: still here. `answered`: completely. `broken`: the connection ended before that. */
  state: 'open' | 'answered' | 'broken';
}

export interface RequestCounts {
  readonly total: number;
  readonly charges: number;
  readonly open: number;
  readonly replayed: number;
  readonly byStatus: Readonly<Record<string, number>>;
  readonly byFault: Readonly<Record<string, number>>;
}

/** Counts all requests and remembers the last ones. */
export class RequestLog {
  readonly #capacity: number;
  readonly #ring: LoggedRequest[] = [];
  #next = 0;
  #total = 0;
  #charges = 0;
  #open = 0;
  #replayed = 0;
  readonly #byStatus = new Map<number, number>();
  readonly #byFault = new Map<string, number>();

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  arrived(request: LoggedRequest, isCharge: boolean): void {
    this.#ring[this.#next] = request;
    this.#next = (this.#next + 1) % this.#capacity;
    this.#total += 1;
    this.#open += 1;
    if (isCharge) this.#charges += 1;
    if (request.fault !== null) count(this.#byFault, request.fault);
  }

  ended(request: LoggedRequest, state: 'answered' | 'broken'): void {
    if (request.state !== 'open') return;
    request.state = state;
    this.#open -= 1;
    if (request.replayed) this.#replayed += 1;
    if (request.status !== null) count(this.#byStatus, request.status);
  }

  counts(): RequestCounts {
    return {
      total: this.#total,
      charges: this.#charges,
      open: this.#open,
      replayed: this.#replayed,
      byStatus: Object.fromEntries(this.#byStatus),
      byFault: Object.fromEntries(this.#byFault),
    };
  }

  /** Oldest first, of one order or of all. */
  recent(orderId?: string): LoggedRequest[] {
    const ordered = [...this.#ring.slice(this.#next), ...this.#ring.slice(0, this.#next)];
    return orderId === undefined ? ordered : ordered.filter((request) => request.orderId === orderId);
  }
}

function count<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
