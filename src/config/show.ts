import type { Setting } from './sources.ts';
import type { Variable } from './variables.ts';

/** One variable for people and machines; a secret's value is masked, of a URL only what is no secret is shown. */
export interface ShownSetting {
  readonly name: string;
  /** undefined: not set. */
  readonly value: string | undefined;
  readonly origin: string;
}

const MASK = '****';

export function shownSettings(settings: readonly Setting[]): readonly ShownSetting[] {
  return settings.map(({ variable, text, origin }) => ({
    name: variable.name,
    value: text === undefined ? undefined : shown(variable, text),
    origin,
  }));
}

/** Aligned columns: name, value, origin. */
export function settingsTable(settings: readonly Setting[]): string {
  const rows = shownSettings(settings).map(({ name, value, origin }, index) => {
    const fallback = settings[index]?.variable.fallback;
    return [name, value ?? (fallback === undefined ? '-' : `(${fallback})`), origin] as const;
  });
  const widths = [0, 1].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const [nameWidth = 0, valueWidth = 0] = widths;
  return rows
    .map(([name, value, origin]) => `${name.padEnd(nameWidth)}  ${value.padEnd(valueWidth)}  ${origin}\n`)
    .join('');
}

function shown(variable: Variable, text: string): string {
  // Of every URL, secret or not: someone may have put a password where none belongs.
  if (variable.name.endsWith('_URL')) return text.split(',').map(maskedUrl).join(',');
  return variable.secret ? MASK : text;
}

/** Scheme, user, host, port and path; anything that does not parse cleanly is masked as a whole. */
function maskedUrl(text: string): string {
  if (!URL.canParse(text.trim())) return MASK;
  const url = new URL(text.trim());
  // An @ this far back means that part of a password was taken for the path.
  if (url.host === '' || /@/.test(url.pathname + url.search + url.hash)) return MASK;
  const password = url.password === '' ? '' : `:${MASK}`;
  const user = url.username === '' && password === '' ? '' : `${url.username}${password}@`;
  const query = url.search === '' ? '' : `?${MASK}`;
  return `${url.protocol}//${user}${url.host}${url.pathname}${query}`;
}
