/**
 * What the operators' commands need of the adapters, put together: the composition root beside app.ts, which is the
 * worker's. Each part opens its own connections and is closed by whoever opened it.
 */
import { openAuditTrail as openTrail } from './adapters/postgres/audit-trail.ts';
import { openFleet as openFleetOf } from './adapters/postgres/fleet.ts';
import { applyGrants, grantStatements, type RoleNames } from './adapters/postgres/grants.ts';
import { migrateUp, migrationStatus } from './adapters/postgres/migrate.ts';
import { openOrderHistory as openHistory } from './adapters/postgres/order-history.ts';
import { openParkedOrders as openParked } from './adapters/postgres/parked-orders.ts';
import { openOrderSearch as openSearch } from './adapters/postgres/order-search.ts';
import { BrokerConnection } from './adapters/rabbitmq/connection.ts';
import { declareOrdersQueue } from './adapters/rabbitmq/declare.ts';
import { openQueueDepths as openDepths } from './adapters/rabbitmq/queue-depths.ts';
import { parseAmqpUrls } from './adapters/rabbitmq/endpoint.ts';
import { Publisher } from './adapters/rabbitmq/publisher.ts';
import type { Config } from './config/config.ts';
import { secretTexts } from './config/secrets.ts';
import type { AuditTrail } from './ports/audit-trail.ts';
import type { Log } from './ports/log.ts';
import type { OrderHistory } from './ports/order-history.ts';
import type { OrderSearch } from './ports/order-search.ts';
import type { OrderPublisher } from './ports/order-publisher.ts';
import type { ParkedOrders } from './ports/parked-orders.ts';
import { createLog } from './telemetry/log.ts';
import { RetriableError } from './topology/errors.ts';
import { systemClock, systemRandom } from './topology/system-clock.ts';

const CONNECT_WALL_MS = 5_000;

export function openMigrations(config: Pick<Config, 'database'>) {
  const url = config.database.url.reveal();
  return {
    up: () => migrateUp({ url, log: logOnStderr(config) }),
    status: () => migrationStatus({ url }),
    grants: grantStatements,
    grant: (roles: RoleNames) => applyGrants({ url, roles }),
  };
}

export { createCardCipher as openCardCipher } from './adapters/jose/card-cipher.ts';

export function openOrderHistory(
  config: Pick<Config, 'database'>,
): OrderHistory & { close(): Promise<void> } {
  return openHistory({ databaseUrl: config.database.url.reveal(), log: logOnStderr(config) });
}

export function openAuditTrail(config: Pick<Config, 'database'>): AuditTrail & { close(): Promise<void> } {
  return openTrail({ databaseUrl: config.database.url.reveal(), log: logOnStderr(config) });
}

export function openParkedOrders(
  config: Pick<Config, 'database'>,
): ParkedOrders & { close(): Promise<void> } {
  return openParked({ databaseUrl: config.database.url.reveal(), log: logOnStderr(config) });
}

export function openOrderSearch(config: Pick<Config, 'database'>): OrderSearch & { close(): Promise<void> } {
  return openSearch({ databaseUrl: config.database.url.reveal(), log: logOnStderr(config) });
}

export function openFleet(config: Pick<Config, 'database'>) {
  return openFleetOf({ databaseUrl: config.database.url.reveal(), log: logOnStderr(config) });
}

/** What goes wrong is told with the depths, so nothing is logged besides. */
export function openQueueDepths(config: Pick<Config, 'broker' | 'topology'>) {
  const { ordersQueue, prefix, urls } = config.broker;
  const { retryLevelsMs: levelsMs } = config.topology;
  const means = { clock: systemClock, random: systemRandom(), log: logOnStderr(config) };
  return openDepths({ ...means, urls: urls.reveal(), ordersQueue, prefix, levelsMs });
}

/** Rejects with a RetriableError of class `publisher_unavailable` when no broker answers within five seconds. */
export async function openOrderPublisher(
  config: Pick<Config, 'broker'>,
): Promise<OrderPublisher & { close(): Promise<void> }> {
  const { urls, tls, ordersQueue, prefix, declare: mode } = config.broker;
  const means = { clock: systemClock, random: systemRandom(), log: logOnStderr(config) };
  const connection = new BrokerConnection({
    ...means,
    role: 'publish',
    endpoints: parseAmqpUrls(urls.reveal(), tls),
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
