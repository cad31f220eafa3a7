/**
 * Whether what is sent to `url` (valid, of a broker, a database or a gateway) stays on this machine, or goes over
 * TLS with the peer's certificate verified.
 */
export function isVerifiedOrLocal(text: string): boolean {
  const url = new URL(text);
  switch (url.protocol) {
    case 'https:':
    case 'amqps:':
      return true;
    case 'postgres:':
    case 'postgresql:':
      return isLocalDatabase(url) || isVerifiedDatabase(url.searchParams);
    default:
      return isLoopback(url.hostname);
  }
}

/** A `host` parameter goes before the URL's own host, as in libpq; a path is a unix socket. */
function isLocalDatabase(url: URL): boolean {
  const host = url.searchParams.get('host') ?? decodeURIComponent(url.hostname);
  return host === '' || host.startsWith('/') || isLoopback(host);
}

/** The `pg` library verifies in these modes, unless it is told to do as libpq does. */
function isVerifiedDatabase(parameters: URLSearchParams): boolean {
  const mode = parameters.get('sslmode') ?? '';
  if (parameters.get('uselibpqcompat') === 'true') return mode === 'verify-full';
  return ['require', 'verify-ca', 'verify-full'].includes(mode);
}

function isLoopback(host: string): boolean {
  return /^(localhost|.+\.localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/i.test(host);
}
