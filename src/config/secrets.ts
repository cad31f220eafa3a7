import type { Config } from './config.ts';

/** Shorter texts (`guest`) occur in ordinary words; masking them would spoil the logs and protect nothing. */
const MIN_LENGTH = 8;

/** Every text in `config` that no log line may contain: keys, passwords, and the URLs that hold passwords. */
export function secretTexts(config: Partial<Config>): readonly string[] {
  const urls = [...(config.broker?.urls.reveal().split(',') ?? []), config.database?.url.reveal()];
  const keys = [
    config.gateway?.apiKey.reveal(),
    config.orders?.fingerprintKey.reveal(),
    ...(config.orders?.cardKeys ?? []).flatMap(({ jwk }) => privateMembersOf(jwk.reveal())),
  ];
  const texts = [...keys, ...urls.flatMap((url) => (url === undefined ? [] : passwordsIn(url.trim())))];
  return [...new Set(texts)].filter((text) => text !== undefined).filter((text) => text.length >= MIN_LENGTH);
}

/** The members of a JWK that are secret in its kind of key (RFC 7518, section 6). */
function privateMembersOf(jwk: string): readonly (string | undefined)[] {
  const { d, p, q, dp, dq, qi, k } = JSON.parse(jwk) as Readonly<Record<string, string | undefined>>;
  return [d, p, q, dp, dq, qi, k];
}

function passwordsIn(text: string): readonly string[] {
  const url = new URL(text);
  const inQuery = url.searchParams.get('password') ?? '';
  return [url.password, decoded(url.password), inQuery];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
