/**
 * What may be written of a message that nobody could read, or of an error: no card data in any form.
 *
 * Two rules, both on the safe side, since nothing tells a card number in a broken message from any other digits:
 * - `redactedBody` keeps ASCII letters, punctuation and white space, so that people still see what kind of text it
 *   was. Every digit, every other byte, and every unbroken run of base64 characters long enough to hide a card
 *   number becomes `*`. At most 64 KiB.
 * - `scrubbedText` masks what could be a card number: 12 or more digits, also with spaces or dashes in between.
 */
const LARGEST_BODY_BYTES = 65_536;
const ASTERISK = 0x2a;
/** Twelve digits, the shortest card number, are 16 characters in base64. */
const HIDING_RUN = /[A-Za-z0-9+/_*-]{16,}={0,2}/g;
const CARD_NUMBER_LIKE = /\d(?:[ -]{0,3}\d){11,}/g;

export function redactedBody(body: Uint8Array): Uint8Array {
  const kept = Buffer.from(body.subarray(0, LARGEST_BODY_BYTES));
  for (let at = 0; at < kept.length; at++) {
    if (!isHarmless(kept[at] ?? 0)) kept[at] = ASTERISK;
  }
  return Buffer.from(kept.toString('latin1').replaceAll(HIDING_RUN, masked), 'latin1');
}

/** At most `mostBytes` bytes of UTF-8, cut between characters. */
export function scrubbedText(text: string, mostBytes: number): string {
  const scrubbed = text.replaceAll(CARD_NUMBER_LIKE, masked);
  if (Buffer.byteLength(scrubbed) <= mostBytes) return scrubbed;
  // A cut inside a character leaves the replacement character at the end.
  return Buffer.from(scrubbed)
    .subarray(0, mostBytes)
    .toString('utf8')
    .replace(/\uFFFD$/, '');
}

/** Flat headers with scrubbed texts; everything nested is left out, and at most 50 are kept. */
export function scrubbedHeaders(headers: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const scrubbed: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(headers).slice(0, 50)) {
    if (typeof value === 'boolean') scrubbed[name] = value;
    else if (typeof value === 'string') scrubbed[name] = scrubbedText(value, 1_024);
    else if (typeof value === 'number' && Math.abs(value) < 1e11) scrubbed[name] = value;
  }
  return scrubbed;
}

function isHarmless(byte: number): boolean {
  const isDigit = byte >= 0x30 && byte <= 0x39;
  const isPrintable = byte >= 0x20 && byte < 0x7f;
  const isWhiteSpace = byte === 0x09 || byte === 0x0a || byte === 0x0d;
  return (isPrintable && !isDigit) || isWhiteSpace;
}

function masked(run: string): string {
  return '*'.repeat(run.length);
}
