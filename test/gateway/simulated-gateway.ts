import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Gateway } from '../../src/ports/gateway.ts';
import type { LedgerEntry } from '../../src/simulator/ledger.ts';
import type { LoggedRequest } from '../../src/simulator/request-log.ts';
import { startSimulator } from '../../src/simulator/simulator.ts';
import type { GatewayUnderTest, Hold } from '../conformance/gateway.ts';

export interface SimulatedGateway extends GatewayUnderTest {
  readonly port: number;
  ledger(): Promise<readonly LedgerEntry[]>;
}

/** A simulator of the test's own, and behind the port what `create` makes of its URL. */
export async function openSimulatedGateway(
  create: (baseUrl: string) => Gateway & { close(): Promise<void> },
): Promise<SimulatedGateway> {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-'));
  const simulator = await startSimulator({ port: 0, ledgerFile: join(directory, 'ledger.jsonl') });
  const gateway = create(simulator.url);

  async function door<T>(path: string, init?: { method: string; body?: string }): Promise<T> {
    const answer = await fetch(simulator.url + path, init);
    assert.equal(answer.status, 200, `${path}: HTTP ${answer.status}`);
    return (await answer.json()) as T;
  }

  const ledger = async () => (await door<{ entries: LedgerEntry[] }>('/__ledger')).entries;
  return {
    gateway,
    port: simulator.port,
    ledger,
    arrange: async (fault) => {
      await door('/__faults', { method: 'PUT', body: JSON.stringify([{ fault, times: 1 }]) });
    },
    release: async () => {
      await door('/__release', { method: 'POST' });
    },
    holds: async (orderId) => heldFor(orderId, await ledger()),
    arrivals: async (orderId) =>
      (await door<{ recent: LoggedRequest[] }>(`/__requests?orderId=${encodeURIComponent(orderId)}`)).recent
        .length,
    close: async () => {
      await simulator.close();
      await gateway.close();
      rmSync(directory, { recursive: true });
    },
  };
}

function heldFor(orderId: string, entries: readonly LedgerEntry[]): Hold[] {
  const voided = new Set(entries.filter(({ kind }) => kind === 'void').map((entry) => entry.authorizationId));
  return entries
    .filter((entry) => entry.kind === 'approval' && entry.orderId === orderId)
    .filter((entry) => !voided.has(entry.authorizationId))
    .map((entry) => ({
      reference: entry.authorizationId,
      amountMinor: entry.amountMinor,
      currency: entry.currency.toUpperCase(),
    }));
}
