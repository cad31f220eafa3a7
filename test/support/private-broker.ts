import { execFile } from 'node:child_process';
import { chmodSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** A RabbitMQ of one test file's own: with the management plugin, with TLS, or stopped in the middle. */
export interface PrivateBroker {
  /** `amqp://guest:guest@127.0.0.1:...` */
  readonly url: string;
  readonly managementUrl: string;
  /** Only with `tls`. */
  readonly tlsPort: number;
  rabbitmqctl(...args: string[]): Promise<string>;
  /** The management API as guest, much faster than rabbitmqctl; rejects on a refusal. */
  api(method: 'GET' | 'PUT' | 'DELETE', path: string, body?: object): Promise<unknown>;
  stop(): Promise<void>;
}

export interface TlsServerFiles {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

// The scripts have no types of their own.
interface Scripts {
  readonly startKeeper: () => { stop(): Promise<void>; removeAtEnd(path: string): void };
  readonly startRabbitmq: (options: object) => Promise<{
    readonly url: string;
    readonly rabbitmqctl: { readonly command: string; readonly env: Record<string, string> };
  }>;
  readonly findRabbitmq: () => object | undefined;
  readonly freePorts: (count: number) => Promise<number[]>;
}

async function scripts(): Promise<Scripts> {
  const names = ['keeper', 'rabbitmq', 'find-binaries', 'free-ports'];
  const urls = names.map((name) => new URL(`../../../scripts/services/${name}.mjs`, import.meta.url));
  const modules: object[] = await Promise.all(
    urls.map((url) => import(fileURLToPath(url)) as Promise<object>),
  );
  return Object.assign({}, ...modules) as Scripts;
}

/** False where RabbitMQ's own programs are not installed. */
export async function canStartBroker(): Promise<boolean> {
  return (await scripts()).findRabbitmq() !== undefined;
}

export async function startBroker(options: { readonly tls?: TlsServerFiles } = {}): Promise<PrivateBroker> {
  const { findRabbitmq, freePorts, startKeeper, startRabbitmq } = await scripts();
  const keeper = startKeeper();
  try {
    const directory = mkdtempSync(join(tmpdir(), 'cardauth-'));
    keeper.removeAtEnd(directory);
    chmodSync(directory, 0o711);
    const [managementPort = 0, tlsPort = 0, ...ports] = await freePorts(5);
    const { url, rabbitmqctl } = await startRabbitmq({
      keeper,
      directory,
      binaries: findRabbitmq(),
      ports,
      plugins: ['rabbitmq_management'],
      config: [
        'management.tcp.ip = 127.0.0.1',
        `management.tcp.port = ${managementPort}`,
        'collect_statistics_interval = 500',
        ...(options.tls === undefined ? [] : tlsConfig(tlsPort, options.tls)),
      ],
    });
    return {
      url,
      managementUrl: `http://127.0.0.1:${managementPort}`,
      tlsPort,
      async rabbitmqctl(...args) {
        const { command, env } = rabbitmqctl;
        const run = promisify(execFile);
        return (await run(command, ['--quiet', ...args], { env, timeout: 60_000 })).stdout;
      },
      async api(method, path, body) {
        const response = await fetch(`http://127.0.0.1:${managementPort}/api/${path}`, {
          method,
          headers: { authorization: `Basic ${btoa('guest:guest')}`, 'content-type': 'application/json' },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        });
        const text = await response.text();
        if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
        return text === '' ? undefined : (JSON.parse(text) as unknown);
      },
      stop: () => keeper.stop(),
    };
  } catch (error) {
    await keeper.stop();
    throw error;
  }
}

function tlsConfig(port: number, { ca, cert, key }: TlsServerFiles): readonly string[] {
  return [
    `listeners.ssl.1 = 127.0.0.1:${port}`,
    `ssl_options.cacertfile = ${ca}`,
    `ssl_options.certfile = ${cert}`,
    `ssl_options.keyfile = ${key}`,
    'ssl_options.verify = verify_peer',
    'ssl_options.fail_if_no_peer_cert = true',
  ];
}
