/** Fills the parking lot of a stage as workers and the broker do, and runs operators' commands about what is in it. */
import { randomUUID } from 'node:crypto';
import type { ReplayResult } from '../../src/ops/parked/batch-view.ts';
import type { ParkedGroup } from '../../src/ops/parked/group-parked.ts';
import type { ParkedList } from '../../src/ops/parked/list-parked.ts';
import * as parked from '../../src/parked-operations.ts';
import { openCardCipher } from '../../src/operations.ts';
import { cli, type CliRun } from '../cli/fake-context.ts';
import { waitFor } from '../support/wait-for.ts';
import { newOrderId, type Environment, type Stage } from './stage.ts';

export const REASON = ['--reason', 'a test'];

export interface ParkedAs {
  readonly body: string;
  readonly reason: string;
  readonly class: 'input' | 'review' | 'exhausted';
  readonly error: string;
  /** Milliseconds before now; 0 unless given. */
  readonly seenAgoMs?: number;
}

const AT_ONCE = 200;

/** Puts copies into the lot, in this order, each a millisecond after the one before; resolves to their message ids. */
export async function park(stage: Stage, messages: readonly ParkedAs[]): Promise<string[]> {
  const beganMs = Date.now() - messages.length;
  const ids: string[] = [];
  for (let at = 0; at < messages.length; at += AT_ONCE) {
    const some = messages.slice(at, at + AT_ONCE);
    const published = some.map((message, index) => parkOne(stage, message, beganMs + at + index));
    ids.push(...(await Promise.all(published)));
  }
  return ids;
}

async function parkOne(stage: Stage, message: ParkedAs, parkedAtMs: number): Promise<string> {
  const { body, seenAgoMs = 0 } = message;
  const messageId = randomUUID();
  const headers = {
    'cardauth-park-id': randomUUID(),
    'cardauth-park-reason': message.reason,
    'cardauth-park-class': message.class,
    'cardauth-park-attempts': 8,
    'cardauth-park-error': message.error,
    'cardauth-park-first-seen': new Date(parkedAtMs - seenAgoMs).toISOString(),
    'cardauth-park-parked-at': new Date(parkedAtMs).toISOString(),
    'cardauth-park-origin-queue': stage.broker.ordersQueue,
    'cardauth-attempt': 8,
    'cardauth-first-seen': new Date(parkedAtMs).toISOString(),
    trace: `of ${messageId}`,
  };
  await stage.client.publish({
    routingKey: `${stage.broker.prefix}.parked`,
    body: Buffer.from(body),
    properties: { messageId, contentType: 'application/json', headers },
  });
  return messageId;
}

/** Has the broker dead-letter messages: it rejects each, from a queue of its own. */
export async function deadLetter(stage: Stage, bodies: readonly string[]): Promise<void> {
  const queue = `${stage.broker.prefix}.short-lived`;
  await stage.client.declareQueue(queue, {
    'x-dead-letter-exchange': `${stage.broker.prefix}.dlx`,
    'x-message-ttl': 1,
  });
  for (const body of bodies) await stage.client.publish({ routingKey: queue, body: Buffer.from(body) });
  await waitFor(
    'the broker to dead-letter them',
    async () => (await stage.client.counts(queue))?.ready === 0,
  );
  await stage.client.deleteQueue(queue);
}

export async function countOf(stage: Stage, condition: string): Promise<number> {
  const { rows } = await stage.database.query<{ count: number }>(
    `select count(*)::int as count from cardauth.parked_orders where ${condition}`,
  );
  return rows[0]?.count ?? 0;
}

export async function recorded(stage: Stage, count: number): Promise<void> {
  await waitFor(`${count} parked orders`, async () => (await countOf(stage, 'true')) === count, {
    timeoutMs: 40_000,
  });
}

/** Runs commands as operators do, each with an id of its own. */
export function operator(stage: Stage, change: Environment = {}) {
  const run = (...args: string[]): Promise<CliRun> => {
    const known = args.includes('--yes') && !args.includes('--command-id');
    return cli(known ? [...args, '--command-id', newOrderId()] : args, {
      parts: {
        parked: () => Promise.resolve(parked),
        cardCipher: () => Promise.resolve(openCardCipher),
      },
      env: { ...stage.environment, ...change },
      newMessageId: randomUUID,
    });
  };
  return {
    run,
    list: async (...args: string[]) =>
      (JSON.parse((await run('parked', 'list', '--json', '--limit', '1000', ...args)).stdout) as ParkedList)
        .parked,
    groups: async (...args: string[]) =>
      (JSON.parse((await run('parked', 'groups', '--json', ...args)).stdout) as { groups: ParkedGroup[] })
        .groups,
    replay: async (...args: string[]) => {
      const { exitCode, stderr, stdout } = await run('parked', 'replay', '--json', ...args);
      const result = stdout === '' ? undefined : (JSON.parse(stdout) as ReplayResult);
      return { exitCode, stderr, plan: result?.plan, batch: result?.batch, end: result?.end };
    },
  };
}

export interface AuditRow {
  readonly subject: string;
  readonly actor: string;
  readonly reason: string;
  readonly before: { readonly state: string } | null;
  readonly after: Readonly<Record<string, unknown>>;
}

export async function auditOf(stage: Stage, action: string): Promise<AuditRow[]> {
  const { rows } = await stage.database.query<AuditRow>(
    'select subject, actor, reason, before, after from cardauth.audit_log where action = $1 order by audit_id',
    [action],
  );
  return rows;
}
