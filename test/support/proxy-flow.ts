import type { Socket } from 'node:net';

export type Verdict = 'pass' | 'hold' | 'drop' | 'cut';

/** What is known of the bytes that pass: a chunk, or a frame of a protocol. */
export interface Unit {
  readonly bytes: Buffer;
}

/** What the proxy does to one direction of all its connections; changed while they run. */
export interface Policy<U extends Unit> {
  frozen: boolean;
  latencyMs: number;
  judge: (unit: U) => Verdict;
}

interface FlowOptions<U extends Unit> {
  readonly source: Socket;
  readonly destination: Socket;
  readonly policy: Readonly<Policy<U>>;
  readonly split: (chunk: Buffer) => U[];
  readonly onHeld: () => void;
  readonly onCut: () => void;
  /** What becomes of each unit: `hold` may come before another verdict on the same one. */
  readonly onJudged: (unit: U, verdict: Verdict) => void;
}

const maxQueued = 1_000;

/**
 * One direction of one proxied connection. Units wait in a queue, in order, until they may be written. While
 * it is frozen or holds something it stops reading, so the sender sees a peer that stopped reading too.
 */
export class ProxyFlow<U extends Unit> {
  readonly #options: FlowOptions<U>;
  #queue: { readonly unit: U; readonly dueAtMs: number }[] = [];
  #holding = false;
  #released = false;
  #sourceEnded = false;
  #closed = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: FlowOptions<U>) {
    this.#options = options;
    options.source.on('data', (chunk: Buffer) => {
      this.#read(chunk);
    });
    options.source.on('end', () => {
      this.#sourceEnded = true;
      this.pump();
    });
    options.destination.on('drain', () => {
      this.pump();
    });
  }

  get isHolding(): boolean {
    return this.#holding;
  }

  /** Lets what is held pass, unjudged, and judges what comes after it. */
  release(): void {
    if (!this.#holding) return;
    this.#holding = false;
    this.#released = true;
    this.pump();
  }

  /** Units are written whole, so this falls between two of them. */
  inject(bytes: Buffer): void {
    if (!this.#closed) this.#options.destination.write(bytes);
  }

  /** Ends this direction; what is still queued is lost. */
  halfClose(): void {
    this.discard();
    this.#options.destination.end();
  }

  /** Forgets what is queued and takes no more. */
  discard(): void {
    this.#closed = true;
    this.#queue = [];
    this.#holding = false;
    clearTimeout(this.#timer);
    this.#options.source.resume();
  }

  /** Writes what may be written now; to be called whenever the policy has changed. */
  pump(): void {
    clearTimeout(this.#timer);
    while (this.#mayWrite()) {
      const next = this.#queue[0];
      if (next === undefined) break;
      const waitMs = next.dueAtMs - performance.now();
      if (waitMs > 0) {
        this.#timer = setTimeout(() => {
          this.pump();
        }, waitMs);
        break;
      }
      this.#settle(next.unit);
    }
    this.#regulate();
  }

  #read(chunk: Buffer): void {
    if (this.#closed) return;
    const dueAtMs = performance.now() + this.#options.policy.latencyMs;
    for (const unit of this.#options.split(chunk)) this.#queue.push({ unit, dueAtMs });
    this.pump();
  }

  #settle(unit: U): void {
    const verdict = this.#released ? 'pass' : this.#options.policy.judge(unit);
    this.#options.onJudged(unit, verdict);
    switch (verdict) {
      case 'hold':
        this.#holding = true;
        this.#options.onHeld();
        return;
      case 'cut':
        this.#options.onCut();
        return;
      case 'pass':
        this.#options.destination.write(unit.bytes);
        break;
      case 'drop':
        break;
    }
    this.#released = false;
    this.#queue.shift();
  }

  #mayWrite(): boolean {
    const { policy, destination } = this.#options;
    return !this.#closed && !this.#holding && !policy.frozen && !destination.writableNeedDrain;
  }

  #regulate(): void {
    if (this.#closed) return;
    const { source, destination } = this.#options;
    if (this.#sourceEnded && this.#queue.length === 0 && this.#mayWrite()) destination.end();
    if (this.#mayWrite() && this.#queue.length < maxQueued) source.resume();
    else source.pause();
  }
}
