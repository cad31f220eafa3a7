/** What `cardauth doctor` looks at, put together: the composition root beside app.ts, which is the worker's. */
import { addressOf, gatewayExamination } from './adapters/gateway/examine-gateway.ts';
import { STRIPE_BASE_URL } from './adapters/gateway/stripe-gateway.ts';
import { databaseExamination } from './adapters/postgres/examine-database.ts';
import { parseAmqpUrls, readTlsFiles, type Endpoint } from './adapters/rabbitmq/endpoint.ts';
import { brokerExamination } from './adapters/rabbitmq/examination/examine-broker.ts';
import { certificateExamination, type TlsHost } from './adapters/tls/examine-certificates.ts';
import type { Config } from './config/config.ts';
import type { OrderNotification } from './domain/notification.ts';
import { findingsOf, type Examination } from './ports/examination.ts';
import type { Log } from './ports/log.ts';
import { systemClock, systemRandom } from './topology/system-clock.ts';

/** Each opens its own connections and closes them. The configuration itself was examined by loading it. */
export function examinationsOf(config: Config): readonly Examination[] {
  const { broker, database, gateway, topology } = config;
  const means = { clock: systemClock, random: systemRandom(), log: silentLog };
  const endpoints = parseAmqpUrls(broker.urls.reveal(), broker.tls);
  const gatewayUrl = gateway.url ?? STRIPE_BASE_URL;
  const { maxSpoutPending } = topology;
  return [
    configurationExamination,
    brokerExamination({
      ...means,
      endpoints,
      managementUrl: broker.managementUrl,
      prefix: broker.prefix,
      ordersQueue: broker.ordersQueue,
      exchange: broker.notificationsExchange,
      mode: broker.declare,
      levelsMs: topology.retryLevelsMs,
      routingKeys: ROUTING_KEYS,
      messageTimeoutMs: topology.messageTimeoutMs,
      prefetch: maxSpoutPending + Math.max(1, Math.ceil(maxSpoutPending / 4)),
    }),
    certificateExamination({ ...means, area: 'broker', hosts: endpoints.flatMap(tlsHostOf) }),
    databaseExamination({ ...means, databaseUrl: database.url.reveal() }),
    gatewayExamination({ baseUrl: gatewayUrl }),
    certificateExamination({ ...means, area: 'gateway', hosts: gatewayHost(gatewayUrl) }),
  ];
}

const configurationExamination: Examination = {
  area: 'configuration',
  examine: () =>
    Promise.resolve([findingsOf('configuration.complete').ok('complete, and its deadlines are nested')]),
};

function tlsHostOf({ host, port, tls }: Endpoint): readonly TlsHost[] {
  if (tls === undefined) return [];
  return [{ check: 'broker.certificate', host, port, files: () => readTlsFiles(tls) }];
}

function gatewayHost(url: string): readonly TlsHost[] {
  const { host, port, isTls } = addressOf(url);
  return isTls ? [{ check: 'gateway.certificate', host, port, files: () => ({}) }] : [];
}

const ROUTING_KEYS: readonly OrderNotification['routingKey'][] = ['order.ready-to-ship', 'order.denied'];

/** Whatever goes wrong on the way becomes a finding. */
const silentLog: Log = {
  trace: () => undefined,
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
