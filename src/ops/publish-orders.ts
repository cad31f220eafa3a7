import type { OrderPublisher } from '../ports/order-publisher.ts';
import { ndjsonLines, type NdjsonLine } from './ndjson-lines.ts';

/**
 * Publishes orders, one JSON object a line, byte for byte as they stand there. A line that is no JSON object, or is
 * longer than the worker accepts, is refused; everything else is the worker's to judge.
 */

export interface PublishOptions {
  readonly publisher: OrderPublisher;
  /** A new id for each message; the order's identity is its `id`, not this. */
  readonly newMessageId: () => string;
  /** Stops reading; what is under way is awaited. */
  readonly signal?: AbortSignal;
  readonly onProblem?: (problem: LineProblem) => void;
  readonly onProgress?: (report: PublishReport) => void;
}

/** What became of a line that was not published, without any of its content. */
export interface LineProblem {
  readonly line: number;
  readonly what: string;
}

export interface PublishReport {
  /** Confirmed by the broker. */
  readonly published: number;
  /** Not sent: bad lines. */
  readonly refused: number;
  /** Sent or tried, and not confirmed. */
  readonly failed: number;
  /** Why reading stopped before the end of the input. */
  readonly stopped: 'interrupted' | 'broker' | undefined;
}

/** The worker refuses longer bodies: payments design, section 1. */
const MAX_LINE_BYTES = 65_536;
/** How many lines are under way at once. */
const LANES = 256;
/** After so many failures without a confirm in between, the broker is given up. */
const MAX_FAILURES_IN_A_ROW = LANES;

/** `open` opens the input, which must end, or fail, when the signal is aborted. Rejects when it cannot be read. */
export async function publishOrders(
  open: (signal: AbortSignal) => AsyncIterable<Uint8Array>,
  options: PublishOptions,
): Promise<PublishReport> {
  const publication = new Publication(options);
  try {
    const lines = ndjsonLines(open(publication.end), MAX_LINE_BYTES);
    await Promise.all(Array.from({ length: LANES }, () => publication.runLane(lines)));
    return publication.report();
  } finally {
    publication.giveUp();
  }
}

class Publication {
  /** Aborted when nothing more is to be read. */
  readonly end: AbortSignal;
  readonly #options: PublishOptions;
  readonly #givenUp = new AbortController();
  #published = 0;
  #refused = 0;
  #failed = 0;
  #failuresInARow = 0;

  constructor(options: PublishOptions) {
    this.#options = options;
    this.end = AbortSignal.any([
      this.#givenUp.signal,
      ...(options.signal === undefined ? [] : [options.signal]),
    ]);
  }

  /** Takes lines from the common source until it is empty. */
  async runLane(lines: AsyncGenerator<NdjsonLine, void>): Promise<void> {
    while (!this.end.aborted) {
      const line = await this.#next(lines);
      if (line === undefined) return;
      await this.#publishLine(line);
      this.#options.onProgress?.(this.report());
    }
  }

  giveUp(): void {
    this.#givenUp.abort();
  }

  report(): PublishReport {
    const [published, refused, failed] = [this.#published, this.#refused, this.#failed];
    return { published, refused, failed, stopped: this.#stopped() };
  }

  #stopped(): PublishReport['stopped'] {
    if (this.#options.signal?.aborted === true) return 'interrupted';
    return this.#failuresInARow >= MAX_FAILURES_IN_A_ROW ? 'broker' : undefined;
  }

  async #next(lines: AsyncGenerator<NdjsonLine, void>): Promise<NdjsonLine | undefined> {
    try {
      const next = await lines.next();
      return next.done === true ? undefined : next.value;
    } catch (error) {
      // An input that was closed before its end fails.
      if (this.end.aborted) return undefined;
      throw error;
    }
  }

  async #publishLine({ number, bytes }: NdjsonLine): Promise<void> {
    const complaint = bytes === undefined ? 'is longer than 64 KiB' : complaintAbout(bytes);
    if (bytes === undefined || complaint !== undefined) {
      this.#refused++;
      this.#options.onProblem?.({ line: number, what: `${complaint ?? 'is empty'}: not published` });
      return;
    }
    try {
      await this.#options.publisher.publish({ body: bytes, messageId: this.#options.newMessageId() });
      this.#published++;
      this.#failuresInARow = 0;
    } catch (error) {
      this.#failed++;
      this.#failuresInARow++;
      if (this.#failuresInARow >= MAX_FAILURES_IN_A_ROW) this.giveUp();
      this.#options.onProblem?.({ line: number, what: explanation(error) });
    }
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function complaintAbout(bytes: Uint8Array): string | undefined {
  try {
    const value: unknown = JSON.parse(utf8.decode(bytes));
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? undefined : 'is not a JSON object';
  } catch {
    // The error would quote the line.
    return 'is not JSON in UTF-8';
  }
}

function explanation(error: unknown): string {
  const errorClass = error instanceof Error && 'errorClass' in error ? error.errorClass : undefined;
  switch (errorClass) {
    case 'unroutable':
      return 'not published: the orders queue does not exist';
    case 'nacked':
      return 'not published: the broker refused it; it may be full';
    case 'publisher_unavailable':
      return 'not published: the broker cannot be reached';
    case 'ambiguous':
      return 'not confirmed: it may be on the queue; publishing it again is safe, an order is authorized once';
    default:
      return 'not confirmed, for an unexpected reason';
  }
}
