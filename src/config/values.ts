import * as z from 'zod';
import { Secret } from '../domain/card.ts';

/**
 * The forms that a variable's text may take. Each schema reads text and says in a few words what is wrong with it;
 * none of the messages quotes the text, since anything may have been pasted there.
 */

const text = z.string({ error: 'is required and not set' });

export function wholeNumber(min: number, max: number) {
  return text
    .regex(/^\d{1,15}$/, 'is not a whole number')
    .transform(Number)
    .pipe(z.number().min(min, `is below ${min}`).max(max, `is above ${max}`));
}

/** Hours as a decimal number of at most `maxHours`, read as milliseconds. */
export function hoursAsMs(maxHours: number) {
  return text
    .regex(/^\d{1,4}(\.\d{1,6})?$/, 'is not a number of hours')
    .transform((hours) => Math.round(Number(hours) * 3_600_000))
    .pipe(
      z
        .number()
        .min(1, 'is zero')
        .max(maxHours * 3_600_000, `is above ${maxHours}`),
    );
}

/** A comma-separated list of whole numbers, each larger than the one before. */
export function ascendingList(options: { min: number; max: number; maxItems: number }) {
  const { min, max, maxItems } = options;
  return text
    .regex(/^\d{1,15}( *, *\d{1,15})*$/, 'is not a list of whole numbers')
    .transform((list) => list.split(',').map(Number))
    .pipe(
      z
        .array(z.number().min(min, `has an item below ${min}`).max(max, `has an item above ${max}`))
        .max(maxItems, `has more than ${maxItems} items`)
        .refine(isAscending, 'is not ascending'),
    );
}

function isAscending(items: readonly number[]): boolean {
  return items.every((item, index) => index === 0 || item > (items[index - 1] ?? item));
}

export function oneOf<const Choices extends readonly [string, ...string[]]>(choices: Choices) {
  return text.pipe(z.enum(choices, `is none of ${choices.join(', ')}`));
}

export const flag = text
  .pipe(z.enum(['true', 'false'], 'is neither true nor false'))
  .transform((word) => word === 'true');

export function matching(pattern: RegExp, complaint: string) {
  return text.regex(pattern, complaint);
}

/** A positive amount in major units, kept as text: it is compared exactly, never as a floating-point number. */
export const decimalAmount = text
  .regex(/^(0|[1-9]\d{0,14})(\.\d{1,4})?$/, 'is not a plain decimal number')
  .refine((amount) => /[1-9]/.test(amount), 'is zero');

export function secretText(options: { minBytes: number }) {
  return text
    .refine(
      (secret) => Buffer.byteLength(secret) >= options.minBytes,
      `is shorter than ${options.minBytes} bytes`,
    )
    .transform((secret) => new Secret(secret));
}

/** A secret that travels in an HTTP header: a stray newline or space in it would break every request. */
export const secretHeader = text
  .regex(/^[\x21-\x7e]{1,512}$/, 'is not 1-512 visible ASCII characters without spaces or line ends')
  .transform((secret) => new Secret(secret));

/** One or several URLs, comma-separated, with one of `schemes` each (written `amqps:`). */
export function secretUrls(schemes: readonly string[]) {
  return text
    .superRefine((list, context) => {
      for (const url of list.split(',')) reject(context, urlComplaint(url.trim(), schemes));
    })
    .transform((list) => new Secret(list));
}

export function secretUrl(schemes: readonly string[]) {
  return text
    .superRefine((url, context) => {
      reject(context, urlComplaint(url, schemes));
    })
    .transform((url) => new Secret(url));
}

/** The address that requests go to: no credentials, query or fragment in it. */
export const baseUrl = text
  .superRefine((url, context) => {
    reject(context, urlComplaint(url, ['http:', 'https:']) ?? baseUrlComplaint(new URL(url)));
  })
  .transform((url) => url.replace(/\/+$/, ''));

/** For a variable of the contract that this version does not act on: better refused than silently ignored. */
export function notImplemented(what: string) {
  return text.refine(() => false, `is set, but this version does not implement ${what}: unset it`).optional();
}

function reject(context: z.RefinementCtx, complaint: string | undefined): void {
  if (complaint !== undefined) context.addIssue({ code: 'custom', message: complaint });
}

function urlComplaint(text: string, schemes: readonly string[]): string | undefined {
  // `new URL` quotes its input when it throws; URL.parse is newer than Node 20.
  if (!URL.canParse(text)) return 'is not a URL (special characters in a password must be percent-encoded)';
  const url = new URL(text);
  if (!schemes.includes(url.protocol)) return `does not start with ${schemes.join('// or ')}//`;
  // An unencoded / ? or # in a password ends the host too early and leaves the @ behind.
  if (/@/.test(url.pathname + url.search + url.hash)) {
    return 'has an @ after the host: special characters in a password must be percent-encoded';
  }
  return undefined;
}

function baseUrlComplaint(url: URL): string | undefined {
  if (url.username !== '' || url.password !== '') return 'carries credentials';
  if (url.search !== '' || url.hash !== '') return 'carries a query or a fragment';
  return undefined;
}
