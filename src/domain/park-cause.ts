/**
 * What groups parked orders: the reason, and the error without what differs from one order to the next. Two orders that
 * were parked for the same cause have the same text; a person can still read it.
 */
const LONGEST_CAUSE = 240;

/** In this order: what is longer first, so that its parts are not masked one by one. */
const DIFFERS: readonly RegExp[] = [
  /"[^"]*"|'[^']*'/g,
  /\b\d{4}-\d\d-\d\dT[\d:.]+Z?/g,
  // Keys, references and hashes: a word of eight or more characters with digits among them.
  /\b(?=[\w-]*\d)[\w-]{8,}/g,
  /\d+(?:[.,]\d+)*/g,
];

/** Everything that differs becomes `#`, ids and numbers alike: order 8 after 8 replays groups with order 9 after 8. */
export function causeOf(reason: string, orderId: string | undefined, error: string): string {
  const withoutId = orderId === undefined ? error : error.replaceAll(wordOf(orderId), '#');
  const masked = DIFFERS.reduce((text, pattern) => text.replaceAll(pattern, '#'), withoutId);
  const text = masked.replaceAll(/\s+/g, ' ').trim();
  return cut(text === '' ? reason : `${reason}: ${text}`);
}

/** The id as a word of its own: order 8 does not tear "4082" apart. */
function wordOf(orderId: string): RegExp {
  return new RegExp(`(?<![\\w-])${escaped(orderId)}(?![\\w-])`, 'g');
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`);
}

function cut(text: string): string {
  if (text.length <= LONGEST_CAUSE) return text;
  // Not through a character outside the basic plane.
  return `${text.slice(0, LONGEST_CAUSE - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}
