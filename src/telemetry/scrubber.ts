import { maskCardNumbers } from '../domain/card-numbers.ts';

/** Takes card numbers and known secrets out of a text. */
export type Scrubber = (text: string) => string;

/** `secrets` are masked plain, JSON-escaped, URL-encoded, in base64 and in hex. */
export function createScrubber(secrets: readonly string[]): Scrubber {
  const forms = [...new Set(secrets.filter((secret) => secret !== '').flatMap(formsOf))];
  if (forms.length === 0) return maskCardNumbers;
  // Longest first: a form that contains another one must go as a whole.
  const longestFirst = forms.sort((a, b) => b.length - a.length).map(escapedForRegExp);
  const known = new RegExp(longestFirst.join('|'), 'g');
  return (text) => maskCardNumbers(text.replace(known, '[secret]'));
}

function formsOf(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  const hex = bytes.toString('hex');
  return [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(bytes.toString()),
    bytes.toString('base64').replace(/=+$/, ''),
    bytes.toString('base64url'),
    hex,
    hex.toUpperCase(),
  ];
}

function escapedForRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/-]/g, String.raw`\$&`);
}
