/** One line of NDJSON: its bytes, without the line end; undefined where it is longer than allowed. */
export interface NdjsonLine {
  /** Counts from 1, blank lines included. */
  readonly number: number;
  readonly bytes: Buffer | undefined;
}

const LINE_FEED = 0x0a;

/** The lines of `input` that are not blank, holding no more than one line of at most `maxBytes` in memory. */
export async function* ndjsonLines(
  input: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<NdjsonLine, void> {
  let line = new PartialLine(1, maxBytes);
  for await (const chunk of input) {
    let from = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, from)) {
      line.append(chunk.subarray(from, end));
      if (!line.isBlank()) yield line.finish();
      line = new PartialLine(line.number + 1, maxBytes);
      from = end + 1;
    }
    line.append(chunk.subarray(from));
  }
  if (!line.isBlank()) yield line.finish();
}

class PartialLine {
  readonly number: number;
  readonly #maxBytes: number;
  #pieces: Uint8Array[] = [];
  #length = 0;

  constructor(number: number, maxBytes: number) {
    this.number = number;
    this.#maxBytes = maxBytes;
  }

  append(piece: Uint8Array): void {
    this.#length += piece.length;
    // One byte more is let in: it may be the \r of the line end.
    if (this.#length <= this.#maxBytes + 1) this.#pieces.push(piece);
    else this.#pieces = [];
  }

  isBlank(): boolean {
    return this.#length <= this.#maxBytes + 1 && this.#text().toString('latin1').trim() === '';
  }

  finish(): NdjsonLine {
    const bytes = this.#text();
    const fits = this.#length <= this.#maxBytes + 1 && bytes.length <= this.#maxBytes;
    return { number: this.number, bytes: fits ? bytes : undefined };
  }

  #text(): Buffer {
    const bytes = Buffer.concat(this.#pieces);
    return bytes.at(-1) === 0x0d ? bytes.subarray(0, -1) : bytes;
  }
}
