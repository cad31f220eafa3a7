/**
 * Where a broker listens and how to log in there, from `AMQP_URL`.
 *
 * amqplib gets the parts as an object and never a URL: in a URL it unescapes passwords with the legacy `unescape`,
 * so that one with non-ASCII characters fails even when it is encoded. Errors never quote the text they complain
 * about, because it holds a password, and the message of `new URL` does.
 */
import { readFileSync } from 'node:fs';

import { credentials, type Options, type SocketOptions } from 'amqplib';

import { Secret } from '../../domain/card.ts';

export interface Endpoint {
  readonly host: string;
  readonly port: number;
  readonly username: string;
  readonly password: Secret;
  /** Decoded: `/`, `my/vh`. */
  readonly vhost: string;
  readonly heartbeatSeconds: number;
  /** undefined: plain TCP. */
  readonly tls: TlsFiles | undefined;
}

/** Paths of PEM files, read again at every connect so that renewed certificates are picked up. */
export interface TlsFiles {
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
}

/** Short enough that a dead peer is noticed well within a message timeout. */
const DEFAULT_HEARTBEAT_SECONDS = 10;

/**
 * Reads one or several comma-separated `amqp://user:password@host:port/vhost?heartbeat=10` (or `amqps://`, with
 * `cacertfile`, `certfile` and `keyfile` as in RabbitMQ's URI query parameters). A comma inside a password has to
 * be written `%2C`. `tls` are the files of TLS hosts whose URL names none. Throws an Error that says which entry is wrong, and how, without quoting it.
 */
export function parseAmqpUrls(text: string, tls: TlsFiles = NO_FILES): Endpoint[] {
  return text.split(',').map((entry, index) => parseAmqpUrl(entry.trim(), index + 1, tls));
}

const NO_FILES: TlsFiles = { ca: undefined, cert: undefined, key: undefined };

/** `host:port/vhost`, for logs and errors. */
export function labelOf(endpoint: Endpoint): string {
  const host = endpoint.host.includes(':') ? `[${endpoint.host}]` : endpoint.host;
  return `${host}:${endpoint.port}${endpoint.vhost === '/' ? '' : `/${endpoint.vhost}`}`;
}

/** What amqplib's `connect` takes. Throws when a TLS file cannot be read. */
export function connectOptions(endpoint: Endpoint): { options: Options.Connect; socket: SocketOptions } {
  return {
    options: {
      protocol: endpoint.tls === undefined ? 'amqp' : 'amqps',
      hostname: endpoint.host,
      port: endpoint.port,
      // amqplib unescapes the vhost even when it comes in an object.
      vhost: encodeURIComponent(endpoint.vhost),
      heartbeat: endpoint.heartbeatSeconds,
    },
    socket: {
      credentials: credentials.plain(endpoint.username, endpoint.password.reveal()),
      noDelay: true,
      ...(endpoint.tls === undefined ? {} : readTlsFiles(endpoint.tls)),
    },
  };
}

function parseAmqpUrl(entry: string, position: number, tls: TlsFiles): Endpoint {
  const wrong = (how: string) => new Error(`AMQP URL number ${position}: ${how}`);
  const url = URL.canParse(entry) ? new URL(entry) : undefined;
  if (url === undefined) throw wrong('not a URL; write amqp://user:password@host:5672/vhost');
  if (url.protocol !== 'amqp:' && url.protocol !== 'amqps:')
    throw wrong('must begin with amqp:// or amqps://');
  if (url.hostname === '') throw wrong('names no host');
  const isTls = url.protocol === 'amqps:';
  const decoded = (part: string, name: string): string => {
    try {
      return decodeURIComponent(part);
    } catch {
      throw wrong(`${name} has a % that is not followed by two hex digits; write %25 for the sign itself`);
    }
  };
  const isAnonymous = url.username === '' && url.password === '';
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? (isTls ? 5671 : 5672) : Number(url.port),
    username: isAnonymous ? 'guest' : decoded(url.username, 'the user name'),
    password: new Secret(isAnonymous ? 'guest' : decoded(url.password, 'the password')),
    vhost: decoded(url.pathname.slice(1), 'the vhost') || '/',
    heartbeatSeconds: heartbeatOf(url, wrong),
    tls: isTls ? tlsFilesOf(url, tls) : undefined,
  };
}

function heartbeatOf(url: URL, wrong: (how: string) => Error): number {
  const text = url.searchParams.get('heartbeat');
  if (text === null) return DEFAULT_HEARTBEAT_SECONDS;
  const seconds = Number(text);
  if (!Number.isInteger(seconds) || seconds < 1 || seconds > 600) {
    throw wrong('heartbeat must be a whole number of seconds from 1 to 600');
  }
  return seconds;
}

/** A certificate and its key are one: a URL that names either names both. */
function tlsFilesOf({ searchParams }: URL, otherwise: TlsFiles): TlsFiles {
  const file = (name: string) => searchParams.get(name) ?? undefined;
  const own = searchParams.has('certfile') || searchParams.has('keyfile');
  return {
    ca: file('cacertfile') ?? otherwise.ca,
    cert: own ? file('certfile') : otherwise.cert,
    key: own ? file('keyfile') : otherwise.key,
  };
}

/** What node:tls takes. Throws when a file cannot be read. */
export function readTlsFiles(files: TlsFiles): { ca?: Buffer; cert?: Buffer; key?: Buffer } {
  return {
    ...(files.ca === undefined ? {} : { ca: readFileSync(files.ca) }),
    ...(files.cert === undefined ? {} : { cert: readFileSync(files.cert) }),
    ...(files.key === undefined ? {} : { key: readFileSync(files.key) }),
  };
}
