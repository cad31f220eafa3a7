/**
 * The management API of the broker, read only. Every question has a deadline and a limit on the answer; no redirect is
 * followed, since the login would go along. node:https and not `fetch`: it takes the CA of the broker's own hosts.
 */
import { request as requestHttp, type IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';

import { readTlsFiles, type Endpoint } from '../endpoint.ts';

export type Answer =
  | { readonly kind: 'answered'; readonly status: number; readonly json: unknown }
  | { readonly kind: 'failed'; readonly because: string };

export interface Management {
  /** `path` without `/api/`; its parts encoded by `part`. */
  get(path: string): Promise<Answer>;
  readonly user: string;
  readonly vhost: string;
}

const WALL_MS = 5_000;
const LARGEST_ANSWER_BYTES = 4 * 1024 * 1024;

/** Logs in as the AMQP connection does. */
export function managementApi(baseUrl: string, endpoint: Endpoint): Management {
  const login = `${endpoint.username}:${endpoint.password.reveal()}`;
  const headers = {
    authorization: `Basic ${Buffer.from(login).toString('base64')}`,
    accept: 'application/json',
  };
  return {
    user: endpoint.username,
    vhost: endpoint.vhost,
    get: (path) => ask(`${baseUrl}/api/${path}`, headers, endpoint),
  };
}

export function part(text: string): string {
  return encodeURIComponent(text);
}

function ask(url: string, headers: Record<string, string>, endpoint: Endpoint): Promise<Answer> {
  return new Promise((resolve) => {
    const fail = (error: unknown) => {
      const code = error instanceof Error && 'code' in error ? String(error.code) : 'no answer in time';
      resolve({ kind: 'failed', because: code });
    };
    try {
      const signal = AbortSignal.timeout(WALL_MS);
      const files = endpoint.tls === undefined ? {} : readTlsFiles(endpoint.tls);
      const request = url.startsWith('https:')
        ? requestHttps(url, { headers, signal, agent: false, ...files })
        : requestHttp(url, { headers, signal, agent: false });
      request.once('error', fail);
      request.once('response', (response) => {
        read(response).then(resolve, fail);
      });
      request.end();
    } catch (error) {
      fail(error);
    }
  });
}

async function read(response: IncomingMessage): Promise<Answer> {
  const { statusCode: status = 0 } = response;
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > LARGEST_ANSWER_BYTES) {
      response.destroy();
      return { kind: 'failed', because: `an answer of more than ${LARGEST_ANSWER_BYTES} bytes` };
    }
    chunks.push(chunk);
  }
  if (status >= 300 && status < 400) return { kind: 'failed', because: `a redirect (${status})` };
  try {
    return { kind: 'answered', status, json: JSON.parse(Buffer.concat(chunks).toString('utf8')) };
  } catch {
    return { kind: 'failed', because: `something that is no JSON (status ${status})` };
  }
}
