/**
 * Masks what could be a card number, in any text.
 *
 * A run of digits (separated by nothing, or by up to three spaces, dashes and the like) is searched for stretches of
 * 12-19 digits that begin and end where the run, or a separator, does and that pass the Luhn check. Of each such
 * stretch at least six digits are hidden and at most the first six and the last four stay: the truncation that PCI
 * DSS 3.5.1 accepts for a card number. More than 19 digits without a separator are treated so without the check:
 * a card number with more digits glued to it looks like that.
 *
 * One in ten ids of 12-19 digits passes the check too, and there is no way to tell it from a card number that
 * upstream put into the wrong field. It is masked like one, in the fields that hold ids as well; the digits that
 * stay are enough to search a log for the order with, whose number one knows.
 *
 * A UUID (RFC 9562) is left as it is. One in two hundred has such a stretch in it, and with a digit hidden nobody could
 * go on with the replay, or find the message or the command, that it names.
 */
export function maskCardNumbers(text: string): string {
  return text.replace(uuidsAndDigitRuns, (found) => (isUuid.test(found) ? found : maskRun(found)));
}

const separator = String.raw`(?:[ \t_+\u00a0\u2010-\u2015\u202f-]|\\{1,8}[nrt]|%20|%2[dD])`;
const digitRun = String.raw`\d(?:${separator}{0,3}\d){11,}`;
const uuid = '[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}';
const uuidsAndDigitRuns = new RegExp(`(?<![0-9a-z-])${uuid}(?![0-9a-z-])|${digitRun}`, 'g');
const isUuid = new RegExp(`^${uuid}$`);
const separators = new RegExp(`${separator}+`, 'g');

function maskRun(run: string): string {
  const groups = run.split(separators);
  const hidden = hiddenDigits(groups);
  if (hidden.size === 0) return run;
  const glue = run.match(separators) ?? [];
  let position = 0;
  const masked = groups.map((group, index) => {
    const kept = Array.from(group, (digit) => (hidden.has(position++) ? '*' : digit)).join('');
    return kept + (glue[index] ?? '');
  });
  return masked.join('');
}

/** Positions, counted in digits over all groups. Overlapping stretches are all hidden: any of them may be the card. */
function hiddenDigits(groups: readonly string[]): ReadonlySet<number> {
  const hidden = new Set<number>();
  let start = 0;
  for (const [index, group] of groups.entries()) {
    for (const length of suspiciousLengths(groups.slice(index, index + 19))) hide(hidden, start, length);
    start += group.length;
  }
  return hidden;
}

/** Lengths of the stretches that begin with the first group and look like a card number. */
function suspiciousLengths(groups: readonly string[]): readonly number[] {
  const first = groups[0] ?? '';
  if (first.length > 19) return [first.length];
  const lengths: number[] = [];
  let digits = '';
  for (const group of groups) {
    digits += group;
    if (digits.length > 19) break;
    if (digits.length >= 12 && passesLuhn(digits)) lengths.push(digits.length);
  }
  return lengths;
}

function hide(hidden: Set<number>, start: number, length: number): void {
  const shownFirst = Math.min(6, length - 10);
  for (let position = start + shownFirst; position < start + length - 4; position++) hidden.add(position);
}

function passesLuhn(digits: string): boolean {
  let sum = 0;
  for (let fromRight = 0; fromRight < digits.length; fromRight++) {
    const digit = digits.charCodeAt(digits.length - 1 - fromRight) - 48;
    const doubled = fromRight % 2 === 0 ? digit : digit * 2;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}
