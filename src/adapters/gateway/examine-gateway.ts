import { connect } from 'node:net';

import { findingsOf, type Examination } from '../../ports/examination.ts';
import { CONNECT_TIMEOUT_MS, readBaseUrl } from './endpoint.ts';

/** Whether the gateway can be reached: a connection is opened and closed, and no request is made. */
export function gatewayExamination(options: { readonly baseUrl: string }): Examination {
  return {
    area: 'gateway',
    async examine() {
      const { ok, unreachable } = findingsOf('gateway.reachable');
      const { host, port } = addressOf(options.baseUrl);
      const trouble = await connectionTrouble(host, port);
      if (trouble === undefined) return [ok(`${host}:${port} accepts connections; nothing was sent`)];
      const remedy = 'check CARDAUTH_GATEWAY_URL, name resolution, firewall and proxy';
      return [unreachable(`${host}:${port} cannot be reached: ${trouble}`, remedy)];
    },
  };
}

/** Where a base URL leads to, with the scheme's own port filled in. */
export function addressOf(baseUrl: string): { host: string; port: number; isTls: boolean } {
  const { protocol, hostname, port } = new URL(readBaseUrl(baseUrl).origin);
  const isTls = protocol === 'https:';
  const host = hostname.replace(/^\[|\]$/g, '');
  return { host, port: port === '' ? (isTls ? 443 : 80) : Number(port), isTls };
}

function connectionTrouble(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: CONNECT_TIMEOUT_MS });
    const end = (trouble?: string) => {
      socket.destroy();
      resolve(trouble);
    };
    socket.once('connect', () => {
      end();
    });
    socket.once('timeout', () => {
      end(`no answer within ${CONNECT_TIMEOUT_MS} ms`);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      end(error.code ?? error.name);
    });
  });
}
