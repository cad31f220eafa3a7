/**
 * Whether the certificates that the worker will be shown are good, and for how long still. A handshake is made with
 * each host, as the worker makes it; nothing is sent after that.
 */
import { isIP } from 'node:net';
import { connect, type PeerCertificate } from 'node:tls';

import { findingsOf, type Examination, type Finding } from '../../ports/examination.ts';
import type { Clock } from '../../topology/clock.ts';

export interface TlsHost {
  /** Of the finding, e.g. `broker.certificate`. */
  readonly check: string;
  readonly host: string;
  readonly port: number;
  /** What the worker gives node:tls; throws when a file cannot be read. */
  readonly files: () => { ca?: Buffer; cert?: Buffer; key?: Buffer };
}

const HANDSHAKE_WALL_MS = 5_000;
const DAY_MS = 86_400_000;
/** Time to notice, to order a certificate, and to roll it out. */
const RENEW_WITHIN_DAYS = 21;

export function certificateExamination(options: {
  readonly area: string;
  readonly hosts: readonly TlsHost[];
  readonly clock: Pick<Clock, 'wallMs'>;
}): Examination {
  const { area, clock, hosts } = options;
  return { area, examine: () => Promise.all(hosts.map((host) => examineHost(host, clock.wallMs()))) };
}

async function examineHost(host: TlsHost, nowMs: number): Promise<Finding> {
  const { ok, error, warning, skipped } = findingsOf(host.check);
  const label = `${host.host}:${host.port}`;
  const shown = await shownCertificate(host);
  if ('trouble' in shown) {
    return shown.isTls
      ? error(`the certificate of ${label} is not accepted: ${shown.trouble}`, REMEDY_REFUSED)
      : skipped(`the certificate of ${label} was not seen: ${shown.trouble}`);
  }
  const daysLeft = Math.floor((Date.parse(shown.valid_to) - nowMs) / DAY_MS);
  const text = `the certificate of ${label} is good for ${daysLeft} more day(s), until ${shown.valid_to}`;
  return daysLeft < RENEW_WITHIN_DAYS ? warning(text, 'renew it') : ok(text);
}

const REMEDY_REFUSED =
  'renew it, or correct the host name or the CA (of the broker: CARDAUTH_BROKER_CA_FILE; otherwise NODE_EXTRA_CA_CERTS)';

type Shown = PeerCertificate | { readonly trouble: string; readonly isTls: boolean };

function shownCertificate({ host, port, files }: TlsHost): Promise<Shown> {
  return new Promise((resolve) => {
    try {
      const servername = isIP(host) === 0 ? { servername: host } : {};
      const socket = connect({ ...files(), ...servername, host, port, timeout: HANDSHAKE_WALL_MS });
      const end = (shown: Shown) => {
        resolve(shown);
        socket.destroy();
      };
      socket.once('secureConnect', () => {
        end(socket.getPeerCertificate());
      });
      socket.once('timeout', () => {
        end({ trouble: `no handshake within ${HANDSHAKE_WALL_MS} ms`, isTls: false });
      });
      socket.once('error', (error) => {
        end(troubleOf(error));
      });
    } catch (error) {
      resolve(troubleOf(error));
    }
  });
}

/** Codes of Node and OpenSSL; what is about the way there and not about TLS is left to whoever looks at that. */
function troubleOf(error: unknown): Shown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown trouble';
  const isOnTheWay = /^E(CONN|HOST|NET|TIMEDOUT|NOTFOUND|AI_|PIPE)/.test(code);
  const because = CERTIFICATE_TROUBLE[code] ?? code;
  return { trouble: because, isTls: !isOnTheWay };
}

const CERTIFICATE_TROUBLE: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'it has expired (CERT_HAS_EXPIRED)',
  CERT_NOT_YET_VALID: 'it is not valid yet (CERT_NOT_YET_VALID)',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'it is signed by itself (DEPTH_ZERO_SELF_SIGNED_CERT)',
  ERR_TLS_CERT_ALTNAME_INVALID: 'it is for another host name (ERR_TLS_CERT_ALTNAME_INVALID)',
  SELF_SIGNED_CERT_IN_CHAIN: 'its CA is not trusted (SELF_SIGNED_CERT_IN_CHAIN)',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its CA is not trusted (UNABLE_TO_GET_ISSUER_CERT_LOCALLY)',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its CA is not trusted (UNABLE_TO_VERIFY_LEAF_SIGNATURE)',
  ENOENT: 'a TLS file does not exist (ENOENT)',
  EACCES: 'a TLS file may not be read (EACCES)',
};
