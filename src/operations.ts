/**
 * What the operators' commands need of the adapters, put together: the composition root beside app.ts, which is the
 * worker's. Each part opens its own connections and is closed by whoever opened it.
 */
import { openAuditTrail as openTrail } from './adapters/postgres/audit-trail.ts';
import { migrateUp, migrationStatus } from './adapters/postgres/migrate.ts';
import { openOrderHistory as openHistory } from './adapters/postgres/order-history.ts';
import { BrokerConnection } from './adapters/rabbitmq/connection.ts';
import { declareOrdersQueue } from './adapters/rabbitmq/declare.ts';
import { parseAmqpUrls } from './adapters/rabbitmq/endpoint.ts';
import { Publisher } from './adapters/rabbitmq/publisher.ts';
import type { Config } from './config/config.ts';
import { secretTexts } from './config/secrets.ts';
import type { AuditTrail } from './ports/audit-trail.ts';
import type { Log } from './ports/log.ts';
import type { OrderHistory } from './ports/order-history.ts';
import type { OrderPublisher } from './ports/order-publisher.ts';
import { createLog } from './telemetry/log.ts';
import { RetriableError } from './topology/errors.ts';
import { systemClock, systemRandom } from './topology/system-clock.ts';

const CONNECT_WALL_MS = 5_000;

export function openMigrations(config: Pick<Config, 'database'>) {
  const url = config.database.url.reveal();
  return {
    up: () => migrateUp({ url, log: logOnStderr(config) }),
    status: () => migrationStatus({ url }),
  };
}

export function openOrderHistory(
  config: Pick<Config, 'database'>,
): OrderHistory & { close(): Promise<void> } {
  return openHistory({ databaseUrl: config.database.url.reveal(), log: logOnStderr(config) });
}

export function openAuditTrail(config: Pick<Config, 'database'>): AuditTrail & { close(): Promise<void> } {
  return openTrail({ databaseUrl: config.database.url.reveal(), log: logOnStderr(config) });
}

/** Rejects with a RetriableError of class `publisher_unavailable` when no broker answers within five seconds. */
export async function openOrderPublisher(
  config: Pick<Config, 'broker'>,
): Promise<OrderPublisher & { close(): Promise<void> }> {
  const { urls, ordersQueue, prefix, declare: mode } = config.broker;
  const means = { clock: systemClock, random: systemRandom(), log: logOnStderr(config) };
  const connection = new BrokerConnection({
    ...means,
    role: 'publish',
    endpoints: parseAmqpUrls(urls.reveal()),
  });
  const publisher = new Publisher({
    ...means,
    name: 'orders',
    connection,
    // A missing queue shows in each message's return; checking it first would only delay the answer.
    prepare: async (link) => {
      if (mode === 'assert')
        await declareOrdersQueue({ ...means, link }, { queue: ordersQueue, prefix, mode });
    },
  });
  const close = async (): Promise<void> => {
    await publisher.close();
    await connection.close();
  };
  connection.start();
  publisher.start();
  await connected(connection, close);
  return {
    publish: ({ body, messageId }) =>
      publisher.publish({
        exchange: '',
        routingKey: ordersQueue,
        body,
        properties: { messageId, contentType: 'application/json' },
      }),
    close,
  };
}

export async function connected(connection: BrokerConnection, close: () => Promise<void>): Promise<void> {
  try {
    await connection.whenOpen(AbortSignal.timeout(CONNECT_WALL_MS));
  } catch (cause) {
    const because = connection.unavailableBecause() ?? 'no answer';
    await close();
    throw new RetriableError(`no broker of AMQP_URL could be used within ${CONNECT_WALL_MS} ms: ${because}`, {
      errorClass: 'publisher_unavailable',
      cause,
    });
  }
}

/** Stdout is for the command's data; what goes wrong on the way, the command tells by itself. */
export function logOnStderr(config: Partial<Config>): Log {
  return createLog({
    level: 'error',
    format: 'text',
    secrets: secretTexts(config),
    destination: process.stderr,
  });
}
