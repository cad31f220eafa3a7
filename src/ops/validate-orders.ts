import * as z from 'zod';
import { admit, admitOpened, type AdmissionRules } from '../domain/admission.ts';
import { MAX_BODY_BYTES } from '../domain/json-text.ts';
import type { OpenAdmission, OrderTerms } from '../domain/order.ts';
import { ndjsonLines, type NdjsonLine } from './ndjson-lines.ts';

/**
 * What a worker would make of orders, one JSON object a line: its own admission, without anything being sent anywhere.
 * Problems name line and field, never a value, since any value may be card data.
 */
const count = z.int().nonnegative();

const orderProblem = z.object({
  line: z.int().positive().describe('counts from 1, blank lines included'),
  disposition: z
    .enum(['deny', 'park', 'conflict'])
    .describe(
      'deny: refused for its card data; park: kept for a person; conflict: parked, an earlier line has its id',
    ),
  reason: z.string(),
  detail: z.string().describe('which field is wrong, and what to do'),
});
export type OrderProblem = z.infer<typeof orderProblem>;

export const validationReport = z
  .object({
    lines: count.describe('blank ones not counted'),
    ok: count,
    repeated: count.describe('the same order again: taken in, and authorized once'),
    deny: count,
    park: count,
    conflict: count,
    sealed: count.describe('of those that are ok: with a sealed card that was not opened for want of a key'),
    problems: z.array(orderProblem),
    problemsLeftOut: count,
    isComplete: z.boolean().describe('false: interrupted before the end of the input'),
  })
  .describe('what a worker would make of these orders');
export type ValidationReport = z.infer<typeof validationReport>;

export interface ValidationOptions {
  readonly rules: AdmissionRules;
  /** Opens sealed cards; undefined: they are not looked into. */
  readonly openCard: ((jwe: string) => Promise<Uint8Array | undefined>) | undefined;
  /** Stops reading. */
  readonly signal: AbortSignal;
  readonly onProgress?: (lines: number) => void;
}

export const MOST_PROBLEMS = 1_000;
/** Beyond so many different orders, repetitions are not looked for. */
const MOST_KNOWN_ORDERS = 1_000_000;

/** Rejects when the input cannot be read. */
export async function validateOrders(
  open: (signal: AbortSignal) => AsyncIterable<Uint8Array>,
  options: ValidationOptions,
): Promise<ValidationReport> {
  const validation = new Validation(options);
  try {
    for await (const line of ndjsonLines(open(options.signal), MAX_BODY_BYTES)) {
      await validation.read(line);
    }
  } catch (error) {
    // An input that was closed before its end fails.
    if (!options.signal.aborted) throw error;
  }
  return validation.report(!options.signal.aborted);
}

class Validation {
  readonly #options: ValidationOptions;
  readonly #fingerprints = new Map<string, string>();
  readonly #counts = { lines: 0, ok: 0, repeated: 0, deny: 0, park: 0, conflict: 0, sealed: 0 };
  readonly #problems: OrderProblem[] = [];
  #problemCount = 0;

  constructor(options: ValidationOptions) {
    this.#options = options;
  }

  async read({ number, bytes }: NdjsonLine): Promise<void> {
    this.#counts.lines++;
    const admission = bytes === undefined ? TOO_LARGE : await this.#admit(bytes);
    this.#judge(number, admission);
    this.#options.onProgress?.(this.#counts.lines);
  }

  report(isComplete: boolean): ValidationReport {
    const problemsLeftOut = this.#problemCount - this.#problems.length;
    return { ...this.#counts, problems: this.#problems, problemsLeftOut, isComplete };
  }

  async #admit(bytes: Uint8Array): Promise<OpenAdmission | 'sealed'> {
    const { rules, openCard } = this.#options;
    const admission = admit(bytes, rules);
    if (admission.kind !== 'sealed') return admission;
    if (openCard === undefined) return 'sealed';
    return admitOpened(admission.order, await openCard(admission.order.card), rules);
  }

  #judge(line: number, admission: OpenAdmission | 'sealed'): void {
    if (admission === 'sealed') {
      this.#counts.ok++;
      this.#counts.sealed++;
      return;
    }
    if (admission.kind === 'park') {
      this.#complain({ line, disposition: 'park', reason: admission.reason, detail: admission.detail });
      return;
    }
    const terms = admission.kind === 'ok' ? admission.order.terms : admission.terms;
    if (this.#isConflict(terms)) {
      const detail =
        'an earlier line has the same id with other content: send a new order under an id of its own';
      this.#complain({ line, disposition: 'conflict', reason: 'order_conflict', detail });
    } else if (admission.kind === 'deny') {
      this.#complain({ line, disposition: 'deny', reason: admission.reason, detail: admission.detail });
    } else {
      this.#counts.ok++;
    }
  }

  #isConflict({ orderId, fingerprint }: OrderTerms): boolean {
    const earlier = this.#fingerprints.get(orderId);
    if (earlier === fingerprint) this.#counts.repeated++;
    else if (earlier === undefined && this.#fingerprints.size < MOST_KNOWN_ORDERS)
      this.#fingerprints.set(orderId, fingerprint);
    return earlier !== undefined && earlier !== fingerprint;
  }

  #complain(problem: OrderProblem): void {
    this.#counts[problem.disposition]++;
    this.#problemCount++;
    if (this.#problems.length < MOST_PROBLEMS) this.#problems.push(problem);
  }
}

const TOO_LARGE = {
  kind: 'park',
  orderId: undefined,
  reason: 'too_large',
  detail: `the body has more than ${MAX_BODY_BYTES} bytes`,
} as const;
