/** What the commands about money need of the adapters: the composition root beside operations.ts. */
import { ADYEN_AMOUNTS } from './adapters/gateway/adyen-amounts.ts';
import { fromGatewayUnits } from './adapters/gateway/amount-rules.ts';
import { STRIPE_AMOUNTS } from './adapters/gateway/stripe-amounts.ts';
import { createStripeHolds } from './adapters/gateway/stripe-holds.ts';
import { openAttentionLists as openLists } from './adapters/postgres/attention-lists.ts';
import { createOrderBook, type OrderBookOptions } from './adapters/postgres/order-book.ts';
import { openReconciliationBook as openReconciliation } from './adapters/postgres/reconciliation-book.ts';
import { BrokerConnection } from './adapters/rabbitmq/connection.ts';
import { declareNotificationExchange } from './adapters/rabbitmq/declare.ts';
import { parseAmqpUrls } from './adapters/rabbitmq/endpoint.ts';
import { BrokerNotifier } from './adapters/rabbitmq/notifier.ts';
import { Publisher } from './adapters/rabbitmq/publisher.ts';
import type { MoneyParts } from './cli/money-parts.ts';
import { openGateway } from './gateway.ts';
import { connected, logOnStderr } from './operations.ts';
import { ledgerHolds as ledgerFile } from './ops/reconcile/ledger-file.ts';
import type { OrderBook } from './ports/order-book.ts';
import { systemClock, systemRandom } from './topology/system-clock.ts';

export const openAttentionLists: MoneyParts['openAttentionLists'] = (config) =>
  openLists({ databaseUrl: config.database.url.reveal(), log: logOnStderr(config) });

export const openVerdictBook: MoneyParts['openVerdictBook'] = (config) => {
  const { database, gateway, topology, orders } = config;
  return openBook({
    databaseUrl: database.url.reveal(),
    leaseMs: topology.leaseMs,
    keyWindowMs: gateway.keyWindowMs,
    inquiryWaitsMs: gateway.inquiryWaitsMs,
    softDeclineRetry: orders.softDeclineRetry,
    clock: systemClock,
    log: logOnStderr(config),
  });
};

export const openAnnouncementBook: MoneyParts['openAnnouncementBook'] = (config) =>
  openBook({
    databaseUrl: config.database.url.reveal(),
    // Neither counts for an announcement.
    leaseMs: 0,
    keyWindowMs: 0,
    clock: systemClock,
    log: logOnStderr(config),
  });

const CLOSE_DEADLINE_MS = 5_000;

function openBook(options: OrderBookOptions): OrderBook & { close(): Promise<void> } {
  const book = createOrderBook(options);
  book.start();
  return {
    availability: book.availability,
    apply: (orderId, fact, command) => book.apply(orderId, fact, command),
    close: () => book.close({ deadlineMs: CLOSE_DEADLINE_MS }),
  };
}

export const openInquiry: MoneyParts['openInquiry'] = (config) =>
  openGateway(config.gateway, logOnStderr(config));

export const openNotifier: MoneyParts['openNotifier'] = async (config) => {
  const { urls, notificationsExchange: exchange, declare: mode } = config.broker;
  const means = { clock: systemClock, random: systemRandom(), log: logOnStderr(config) };
  const endpoints = parseAmqpUrls(urls.reveal());
  const connection = new BrokerConnection({ ...means, role: 'publish', endpoints });
  const publisher = new Publisher({
    ...means,
    name: 'notifications',
    connection,
    prepare: (link) => declareNotificationExchange({ ...means, link }, { exchange, mode }),
  });
  const notifier = new BrokerNotifier({ publisher, exchange });
  const close = async (): Promise<void> => {
    await publisher.close();
    await connection.close();
  };
  connection.start();
  publisher.start();
  await connected(connection, close);
  return { notify: (notification) => notifier.notify(notification), close };
};

export const openReconciliationBook: MoneyParts['openReconciliationBook'] = (config) =>
  openReconciliation({ databaseUrl: config.database.url.reveal(), log: logOnStderr(config) });

export const openGatewayHolds: MoneyParts['openGatewayHolds'] = ({ gateway }) => {
  if (gateway.dialect !== 'stripe') return undefined;
  const { url: baseUrl, apiKey, timeoutMs: wallMs } = gateway;
  return createStripeHolds({ baseUrl, apiKey, wallMs, clock: systemClock });
};

export const ledgerHolds: MoneyParts['ledgerHolds'] = ({ gateway }, name, open) => {
  const rules = gateway.dialect === 'stripe' ? STRIPE_AMOUNTS : ADYEN_AMOUNTS;
  return ledgerFile(name, open, (amountMinor, currency) =>
    fromGatewayUnits({ amountMinor, currency }, rules),
  );
};
