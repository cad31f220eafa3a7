import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

export interface Authority {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface Issued {
  readonly certFile: string;
  readonly keyFile: string;
}

/** A certificate authority of a test's own, made by openssl. */
export function createAuthority(folder: string, name: string): Authority {
  const [certFile, keyFile] = [join(folder, `${name}.pem`), join(folder, `${name}.key`)];
  openssl(folder, [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
    ...['-days', '30', '-subj', `/CN=${name}`, '-keyout', keyFile, '-out', certFile],
  ]);
  return { certFile, keyFile };
}

/** A certificate for `127.0.0.1` and `localhost`. */
export function issue(folder: string, by: Authority, name: string, days: number): Issued {
  const [certFile, keyFile] = [join(folder, `${name}.pem`), join(folder, `${name}.key`)];
  openssl(folder, [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
    ...['-days', String(days), '-subj', `/CN=${name}`, '-keyout', keyFile, '-out', certFile],
    ...['-CA', by.certFile, '-CAkey', by.keyFile],
    ...['-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1', '-addext', 'basicConstraints=CA:FALSE'],
  ]);
  return { certFile, keyFile };
}

function openssl(cwd: string, args: readonly string[]): void {
  execFileSync('openssl', args, { cwd, stdio: ['ignore', 'ignore', 'pipe'] });
}
