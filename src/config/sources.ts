import { parseEnv } from 'node:util';
import type { Problem } from './problem.ts';
import { closest } from './spelling.ts';
import { variables, type Variable } from './variables.ts';

/**
 * Where each variable's text comes from: flag > environment > file named by NAME_FILE > --env-file > default.
 * NAME_FILE exists for secrets only; NAME and NAME_FILE in one place contradict each other. Empty text counts as
 * unset, as compose files write `${NAME:-}`. Names that belong to others are passed over: those of the test suite and
 * of docker-compose.yml, and what Kubernetes puts into every pod's environment for a Service called `cardauth...`.
 */

export interface Sources {
  /** Variables that flags set, by name. */
  readonly flags?: Readonly<Record<string, string | undefined>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Path of a file of NAME=value lines. */
  readonly envFile?: string | undefined;
  /** Text of a file; throws as node:fs does. */
  readonly readFile: (path: string) => string;
  /** The demo needs no secrets of its own. */
  readonly demo?: boolean;
}

/** A variable and the text it has now. */
export interface Setting {
  readonly variable: Variable;
  readonly text: string | undefined;
  /** For people: `flag`, `environment`, `file /run/secrets/key`, `prod.env`, `default`, `demo`, `unset`. */
  readonly origin: string;
}

export interface Collected {
  readonly settings: readonly Setting[];
  readonly problems: readonly Problem[];
}

const MAX_FILE_BYTES = 65_536;

export function collect(sources: Sources): Collected {
  const problems: Problem[] = [];
  const places = placesOf(sources, problems);
  for (const place of places) problems.push(...unknownNames(place));
  const settings = variables.map(
    (variable) => settingFrom(places, variable, sources, problems) ?? unsetSetting(variable, sources),
  );
  return { settings, problems };
}

/** One set of NAME=value pairs. */
interface Place {
  readonly name: string;
  readonly texts: Readonly<Record<string, string | undefined>>;
}

/** Highest precedence first. */
function placesOf(sources: Sources, problems: Problem[]): readonly Place[] {
  const places: Place[] = [
    { name: 'flag', texts: sources.flags ?? {} },
    { name: 'environment', texts: sources.env },
  ];
  if (sources.envFile !== undefined) {
    const text = readLimited(sources, sources.envFile);
    if ('complaint' in text) {
      problems.push({
        variables: [],
        what: `--env-file ${sources.envFile} ${text.complaint}`,
        rule: 'a readable file of NAME=value lines, at most 64 KiB',
        example: '--env-file ./cardauth.env',
      });
    } else {
      places.push({ name: sources.envFile, texts: parseEnv(text.text) });
    }
  }
  return places;
}

function settingFrom(
  places: readonly Place[],
  variable: Variable,
  sources: Sources,
  problems: Problem[],
): Setting | undefined {
  for (const place of places) {
    const text = given(place, variable.name);
    const path = variable.secret ? given(place, `${variable.name}_FILE`) : undefined;
    if (text !== undefined && path !== undefined) problems.push(givenTwice(variable, place));
    if (text !== undefined) return { variable, text, origin: place.name };
    if (path !== undefined) return fileSetting(variable, path, sources, problems);
  }
  return undefined;
}

function fileSetting(variable: Variable, path: string, sources: Sources, problems: Problem[]): Setting {
  const read = readLimited(sources, path);
  const origin = `file ${path}`;
  if ('text' in read) return { variable, text: read.text.replace(/\r?\n$/, ''), origin };
  problems.push({
    variables: [variable.name],
    what: `${variable.name}_FILE names ${path}, which ${read.complaint}`,
    rule: 'a readable file of at most 64 KiB that holds the value and nothing else',
    example: `${variable.name}_FILE=/run/secrets/${variable.name.toLowerCase()}`,
  });
  return { variable, text: undefined, origin };
}

function unsetSetting(variable: Variable, sources: Sources): Setting {
  if (sources.demo === true && variable.demo !== undefined) {
    return { variable, text: variable.demo, origin: 'demo' };
  }
  const text = variable.default;
  return { variable, text, origin: text === undefined ? 'unset' : 'default' };
}

function given(place: Place, name: string): string | undefined {
  const text = Object.hasOwn(place.texts, name) ? place.texts[name] : undefined;
  return text === '' ? undefined : text;
}

function readLimited(sources: Sources, path: string): { text: string } | { complaint: string } {
  try {
    const text = sources.readFile(path);
    if (text.length > MAX_FILE_BYTES) return { complaint: 'is larger than 64 KiB' };
    return text.trim() === '' ? { complaint: 'is empty' } : { text };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    return { complaint: `cannot be read (${code})` };
  }
}

function givenTwice(variable: Variable, place: Place): Problem {
  return {
    variables: [variable.name],
    what: `${variable.name} and ${variable.name}_FILE are both set (${place.name})`,
    rule: 'one of the two',
    example: `${variable.name}_FILE=/run/secrets/${variable.name.toLowerCase()}`,
  };
}

const known = new Set<string>(
  variables.flatMap(({ name, secret }) => (secret ? [name, `${name}_FILE`] : [name])),
);

function unknownNames(place: Place): readonly Problem[] {
  return Object.keys(place.texts)
    .filter((name) => place.name === 'flag' || name.startsWith('CARDAUTH_'))
    .filter((name) => {
      const text = given(place, name);
      return text !== undefined && !known.has(name) && !belongsToOthers(name, text);
    })
    .map((name) => unknownName(name, place));
}

function belongsToOthers(name: string, text: string): boolean {
  if (/^CARDAUTH_(TEST|COMPOSE)_/.test(name)) return true;
  // https://kubernetes.io/docs/tutorials/services/connect-applications-service/#environment-variables
  if (/_SERVICE_(HOST|PORT(_\w+)?)$|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/.test(name)) return true;
  return name.endsWith('_PORT') && /^(tcp|udp|sctp):\/\//.test(text);
}

function unknownName(name: string, place: Place): Problem {
  const what = `${name} is not a variable that exists (${place.name})`;
  const plain = name.replace(/_FILE$/, '');
  if (plain !== name && known.has(plain)) {
    return { variables: [], what, rule: 'only secrets are read from files', example: `${plain}=...` };
  }
  const meant = closest(name, [...known]);
  return {
    variables: [],
    what: meant === undefined ? what : `${what}; did you mean ${meant}?`,
    rule: 'every CARDAUTH_ name is one of those that `cardauth config show` lists',
    example: meant === undefined ? `unset ${name}` : `${meant}=...`,
  };
}
