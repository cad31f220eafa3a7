/**
 * The gateway simulator: a stand-in for Stripe, and for Adyen under its paths (dialects.ts), that keeps a ledger of what it really approved and misbehaves
 * on demand. It is the oracle of the tests, so it shares no code with what it judges.
 *
 * A request's way: it is read and a fault may meet it (exchange.ts, faults.ts), it executes at most once per
 * key (gateway.ts, charge.ts), the ledger gets its line (ledger.ts), and the answer goes out (delivery.ts).
 */
import { randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hangUp } from './delivery.ts';
import { exchange, type ExchangeContext } from './exchange.ts';
import { parseFaultScript, type FaultScript } from './fault-script.ts';
import { Faults } from './faults.ts';
import { Holds } from './holds.ts';
import { IdempotencyKeys } from './idempotency-keys.ts';
import { IntentStore } from './intent-store.ts';
import { Ledger } from './ledger.ts';
import { RequestLog } from './request-log.ts';
import { restore } from './restore.ts';
import { Timers } from './timers.ts';

export interface SimulatorOptions {
  /** 0 for any free one. */
  readonly port: number;
  readonly host?: string;
  /** JSON lines, see ledger.ts; created when missing, taken up when not. */
  readonly ledgerFile: string;
  /** Flush each ledger write to the disk. Default false: the line survives this process, not the machine. */
  readonly ledgerFsync?: boolean;
  /** See fault-script.ts. */
  readonly faults?: FaultScript;
  /** Idempotency keys older than this are forgotten. Default 24 h, Stripe's minimum. */
  readonly keyRetentionMs?: number;
  /** New intents are found by search only after so long. Default 0; Stripe says up to a minute. */
  readonly searchLagMs?: number;
  /** How many requests `GET /__requests` remembers. Default 1000. */
  readonly requestLogSize?: number;
  /** Wall clock in milliseconds: expiry of cards, age of keys, timestamps. */
  readonly now?: () => number;
  /** Told about what should not happen; never about card data. */
  readonly logger?: { error(details: object, message: string): void };
}

export interface Simulator {
  /** `http://host:port`, without a slash at the end. */
  readonly url: string;
  readonly port: number;
  /** Cuts all connections, writes what the ledger still has to write, and leaves nothing running. */
  close(): Promise<void>;
}

/** @throws FaultScriptError, and Error when the port is taken or the ledger cannot be used. */
export async function startSimulator(options: SimulatorOptions): Promise<Simulator> {
  const parts = build(options);
  const server = createServer({ keepAliveTimeout: 75_000 }, (request, response) => {
    exchange(request, response, parts).catch((error: unknown) => {
      parts.complain(error);
      hangUp(response);
    });
  });
  const { host = '127.0.0.1' } = options;
  try {
    await listen(server, options.port, host);
  } catch (error) {
    parts.ledger.close();
    throw error;
  }
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    port,
    close: async () => {
      parts.timers.clear();
      await new Promise((closed) => {
        server.close(closed);
        server.closeAllConnections();
      });
      parts.ledger.close();
    },
  };
}

interface Parts extends ExchangeContext {
  readonly complain: (error: unknown) => void;
}

function build(options: SimulatorOptions): Parts {
  const complain = (error: unknown): void => {
    const { name, message } =
      error instanceof Error ? error : new Error('something that is no Error was thrown');
    options.logger?.error({ name, message }, 'the simulator could not answer a request');
  };
  const faults = new Faults(parseFaultScript(options.faults ?? []));
  const ledger = new Ledger(options.ledgerFile, options.ledgerFsync ?? false);
  const intents = new IntentStore();
  const keys = new IdempotencyKeys(options.keyRetentionMs ?? 24 * 3_600_000);
  restore(ledger.earlierEntries, intents, keys);
  return {
    intents,
    keys,
    ledger,
    faults,
    holds: new Holds(),
    log: new RequestLog(options.requestLogSize ?? 1000),
    timers: new Timers(complain),
    now: options.now ?? Date.now,
    searchLagMs: options.searchLagMs ?? 0,
    newIntentId: uniqueIds('pi_3'),
    newPspReference: uniquePspReferences(),
    newRequestId: uniqueIds('req_'),
    complain,
  };
}

/** Unique over all simulators that ever wrote to the same ledger, too. */
function uniqueIds(prefix: string): () => string {
  const start = randomBytes(9).toString('hex');
  let last = 0;
  return () => `${prefix}${start}${(last += 1).toString(36).padStart(6, '0')}`;
}

/** Sixteen capital letters and digits, as Adyen's are; unique as above. */
function uniquePspReferences(): () => string {
  const start = BigInt(`0x${randomBytes(6).toString('hex')}`)
    .toString(36)
    .padStart(10, '0')
    .slice(-10);
  let last = 0;
  return () => `S${start}${(last += 1).toString(36).padStart(5, '0')}`.toUpperCase();
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
