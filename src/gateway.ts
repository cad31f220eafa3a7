import { createAdyenGateway } from './adapters/gateway/adyen-gateway.ts';
import { createStripeGateway } from './adapters/gateway/stripe-gateway.ts';
import type { WorkerConfig } from './config/config.ts';
import type { Gateway } from './ports/gateway.ts';
import type { Log } from './ports/log.ts';

/** The gateway of the configured dialect. */
export function openGateway(config: WorkerConfig['gateway'], log: Log): Gateway & { close(): Promise<void> } {
  const { apiKey, connections, timeoutMs: wallMs, url: baseUrl } = config;
  const options = { apiKey, wallMs, connections, log };
  if (config.dialect === 'stripe') return createStripeGateway({ ...options, baseUrl });
  const { merchantAccount } = config;
  if (baseUrl === undefined || merchantAccount === undefined) {
    throw new Error('adyen needs a URL and a merchant account: the configuration should not have loaded');
  }
  return createAdyenGateway({ ...options, baseUrl, merchantAccount });
}
