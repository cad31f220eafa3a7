import type { Secret } from '../../domain/card.ts';

export interface Endpoint {
  /** Scheme, host and port. */
  readonly origin: string;
  /** What comes before the dialect's own path; without a slash at the end. */
  readonly pathPrefix: string;
}

/** @throws Error when it cannot be used; without the text, for a URL may carry a password. */
export function readBaseUrl(baseUrl: string): Endpoint {
  const unusable =
    'the gateway URL cannot be used: it must be http(s)://host[:port][/path] without user, query or fragment';
  if (!URL.canParse(baseUrl)) throw new Error(unusable);
  const { protocol, origin, pathname, username, password, search, hash } = new URL(baseUrl);
  if (!['http:', 'https:'].includes(protocol) || username + password + search + hash !== '') {
    throw new Error(unusable);
  }
  return { origin, pathPrefix: pathname.replace(/\/+$/, '') };
}

/** @throws Error when it cannot be used; without the key. */
export function checkApiKey(apiKey: Secret): void {
  if (!/^[\x21-\x7e]{1,512}$/.test(apiKey.reveal())) {
    throw new Error(
      'the gateway API key cannot be used: it must be 1 to 512 visible ASCII characters without spaces',
    );
  }
}

/** A connection that does not come about within this time is tried again later rather than waited for. */
export const CONNECT_TIMEOUT_MS = 3_000;
