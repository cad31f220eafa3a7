/** What the commands about parked orders need of the adapters: the composition root beside operations.ts. */
import { openParkedDiscards as openDiscards } from './adapters/postgres/parked-discards.ts';
import { openParkedSearch as openSearch } from './adapters/postgres/parked-search.ts';
import { openReplayBatches as openBatches } from './adapters/postgres/replay-batches.ts';
import { parseAmqpUrls } from './adapters/rabbitmq/endpoint.ts';
import { openReplayBroker as openBroker } from './adapters/rabbitmq/replay-broker.ts';
import type { ParkedParts } from './cli/parked-parts.ts';
import { logOnStderr } from './operations.ts';
import { systemClock, systemRandom } from './topology/system-clock.ts';

export const openParkedSearch: ParkedParts['openParkedSearch'] = (config) =>
  openSearch({ databaseUrl: config.database.url.reveal(), log: logOnStderr(config) });

export const openParkedDiscards: ParkedParts['openParkedDiscards'] = (config) =>
  openDiscards({ databaseUrl: config.database.url.reveal(), log: logOnStderr(config) });

export const openReplayBatches: ParkedParts['openReplayBatches'] = (config) =>
  openBatches({ databaseUrl: config.database.url.reveal(), log: logOnStderr(config) });

export const openReplayBroker: ParkedParts['openReplayBroker'] = (config, ordersQueue) => {
  const { prefix, tls, urls } = config.broker;
  const endpoints = parseAmqpUrls(urls.reveal(), tls);
  const means = { clock: systemClock, random: systemRandom(), log: logOnStderr(config) };
  return openBroker({ ...means, endpoints, ordersQueue, prefix });
};

export const clock: ParkedParts['clock'] = systemClock;
