import { errors } from 'undici';
import type { CutShort, Failed } from './http-exchange.ts';

export type TransportFault = CutShort['fault'] | Failed['fault'];

/** The error's code, and nothing else of it: `[A-Z0-9_]`, at most 64 characters. */
export function codeOf(error: unknown): string {
  // Its own code may be missing; its message and data are the answer's text.
  if (error instanceof errors.HTTPParserError) return UNPARSEABLE;
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' && /^[A-Z0-9_]{1,64}$/.test(code) ? code : 'UNKNOWN';
}

export function faultOf(code: string): TransportFault {
  if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') return 'too_large';
  if (code === UNPARSEABLE || code === 'UND_ERR_HEADERS_OVERFLOW') return 'malformed';
  return TLS_CODE.test(code) ? 'tls' : 'connection';
}

/** Node's TLS and X.509 error codes (node:tls documentation, "X509 certificate error codes"), and OpenSSL's. */
const TLS_CODE =
  /^(ERR_TLS_|ERR_SSL_|CERT_|CRL_|UNABLE_TO_|ERROR_IN_C|DEPTH_ZERO_|SELF_SIGNED_|(EPROTO|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED)$)/;

const UNPARSEABLE = 'NOT_HTTP';
