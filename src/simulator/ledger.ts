/**
 * The ledger: what this gateway really approved, the oracle of every test.
 *
 * A file of JSON lines, one per approval (`kind: "approval"`); a void of an approval is one more line in the
 * same file (`kind: "void"`), so "one line per approval" means the lines of that kind. A line is written
 * before the answer it belongs to goes out. Card data appear as digests only: a test that knows the card
 * compares digests and so learns that exactly that number arrived.
 *
 * On start the file is read back. A last line without its newline was never answered and is cut off.
 */
import { closeSync, fdatasyncSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs';
import type { IntentStatus } from './payment-intent.ts';

export type LedgerEntry = ApprovalEntry | VoidEntry;

interface EntryBasics {
  /** ISO 8601. */
  readonly at: string;
  /** The payment intent's id. */
  readonly authorizationId: string;
  /** `metadata[order_id]`, null when the request had none. */
  readonly orderId: string | null;
  readonly idempotencyKey: string | null;
  /** SHA-256 of the request's parameters; with the key it lets a restarted simulator know the request again. */
  readonly paramsDigest: string;
  /** What is (or was, in a void) held on the card, in minor units. */
  readonly amountMinor: number;
  /** Lower case, as on the wire. */
  readonly currency: string;
}

export interface ApprovalEntry extends EntryBasics {
  readonly kind: 'approval';
  /** When the intent was created; earlier than `at` when the approval came late. */
  readonly createdAt: string;
  /** What the request asked for; differs from `amountMinor` and `currency` only under a fault. */
  readonly requestedAmountMinor: number;
  readonly requestedCurrency: string;
  /** The amount the intent shows; more than `amountMinor` after a partial approval. */
  readonly intentAmountMinor: number;
  readonly status: IntentStatus;
  readonly captureMethod: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** The test token that stood for the card, null when the card itself was sent. */
  readonly paymentMethod: string | null;
  /** SHA-256 of the digits, hexadecimal. */
  readonly cardDigest: string;
  readonly cardLength: number;
  readonly last4: string;
  /** Null when no CVC was sent. */
  readonly cvcDigest: string | null;
  readonly cvcLength: number;
  readonly expMonth: number;
  readonly expYear: number;
  /** The fault's kind under which this was approved, null for none. */
  readonly fault: string | null;
}

export interface VoidEntry extends EntryBasics {
  readonly kind: 'void';
}

export class Ledger {
  /** What the file held when it was opened. */
  readonly earlierEntries: readonly LedgerEntry[];
  readonly #path: string;
  readonly #fd: number;
  readonly #fsync: boolean;
  /** Why nothing can be written any more: after a failed write the file may end in half a line. */
  #unusable: Error | undefined;
  #pending: { line: string; written: () => void; broken: (error: Error) => void }[] = [];

  /**
   * @param fsync survive a crash of the machine too, not only of this process.
   * @throws Error when the file cannot be opened or holds a line that is no ledger entry.
   */
  constructor(path: string, fsync: boolean) {
    this.#path = path;
    this.#fsync = fsync;
    this.#fd = openSync(path, 'a+');
    const text = readFileSync(path, 'utf8');
    const complete = text.slice(0, text.lastIndexOf('\n') + 1);
    if (complete.length < text.length) ftruncateSync(this.#fd, Buffer.byteLength(complete));
    this.earlierEntries = parseLines(complete, path);
  }

  /**
   * Resolves when the line is in the file. Lines of one turn of the event loop share one write.
   *
   * @throws Error when the file cannot be written, now or ever since; restart the simulator then.
   */
  append(entry: LedgerEntry): Promise<void> {
    return new Promise((written, broken) => {
      if (this.#unusable !== undefined) {
        broken(this.#unusable);
        return;
      }
      this.#pending.push({ line: `${JSON.stringify(entry)}\n`, written, broken });
      if (this.#pending.length === 1) setImmediate(this.#write);
    });
  }

  /** The file's lines as the text of a JSON array. */
  toJson(): string {
    return `[${readFileSync(this.#path, 'utf8').trimEnd().replaceAll('\n', ',')}]`;
  }

  close(): void {
    this.#write();
    this.#unusable = new Error(`ledger ${this.#path}: is closed`);
    closeSync(this.#fd);
  }

  readonly #write = (): void => {
    const batch = this.#pending;
    if (batch.length === 0) return;
    this.#pending = [];
    try {
      writeFully(this.#fd, batch.map(({ line }) => line).join(''));
      if (this.#fsync) fdatasyncSync(this.#fd);
    } catch (error) {
      this.#unusable = new Error(`ledger ${this.#path}: could not be written`, { cause: error });
      for (const { broken } of batch) broken(this.#unusable);
      return;
    }
    for (const { written } of batch) written();
  };
}

function writeFully(fd: number, text: string): void {
  const bytes = Buffer.from(text);
  let offset = 0;
  while (offset < bytes.length) offset += writeSync(fd, bytes, offset);
}

function parseLines(text: string, path: string): LedgerEntry[] {
  const lines = text.split('\n').slice(0, -1);
  return lines.map((line, index) => {
    const entry = parseObject(line) as Partial<LedgerEntry> | undefined;
    if (entry?.kind === 'approval' || entry?.kind === 'void') return entry as LedgerEntry;
    throw new Error(
      `ledger ${path}: line ${index + 1} is not a ledger entry; name another file or move this one away`,
    );
  });
}

/** V8's own error would quote the line. */
function parseObject(line: string): object | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
