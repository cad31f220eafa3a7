/** Everything about the broker that a worker depends on; what cannot be seen is said to be skipped, and why. */
import { findingsOf, type Examination, type Finding } from '../../../ports/examination.ts';
import { LONGEST_CUSTODY_MS } from '../custody.ts';
import type { Endpoint } from '../endpoint.ts';
import type { UsedNames } from '../least-permissions.ts';
import type { Link } from '../link.ts';
import { connectionFindings, hostFindings, visit, type Host, type Means } from './hosts.ts';
import { managedFindings, unmanagedFindings } from './managed.ts';
import { managementApi } from './management.ts';
import { objectFindings } from './objects.ts';

export interface BrokerExaminationOptions extends UsedNames, Means {
  readonly endpoints: readonly Endpoint[];
  /** undefined: what AMQP cannot tell is skipped. */
  readonly managementUrl: string | undefined;
  readonly levelsMs: readonly number[];
  /** Routing keys of announcements. */
  readonly routingKeys: readonly string[];
  readonly messageTimeoutMs: number;
  readonly prefetch: number;
}

export function brokerExamination(options: BrokerExaminationOptions): Examination {
  return {
    area: 'broker',
    async examine() {
      const hosts = await Promise.all(options.endpoints.map((endpoint) => visit(endpoint, options)));
      try {
        return [...hostFindings(hosts), ...(await examineFirst(hosts, options))];
      } catch (error) {
        const because = error instanceof Error ? error.message : String(error);
        const broken = findingsOf('broker.objects').error(`not everything could be asked: ${because}`);
        return [...hostFindings(hosts), broken];
      } finally {
        await Promise.all(hosts.map((host) => host.close()));
      }
    },
  };
}

async function examineFirst(
  hosts: readonly Host[],
  options: BrokerExaminationOptions,
): Promise<readonly Finding[]> {
  const host = hosts.find(({ link }) => link !== undefined);
  if (host?.link === undefined) {
    return [findingsOf('broker.objects').skipped('queues, exchanges and rights: no host can be used')];
  }
  const { endpoint, link } = host;
  const { vhost, username: user } = endpoint;
  return [
    ...connectionFindings(link, options.messageTimeoutMs),
    messageSizeFinding(link),
    ...(await objectFindings({ link, clock: options.clock, log: options.log }, { ...options, user, vhost })),
    ...(await examineManaged(endpoint, link, options)),
  ];
}

async function examineManaged(
  endpoint: Endpoint,
  link: Link,
  options: BrokerExaminationOptions,
): Promise<readonly Finding[]> {
  const { managementUrl, messageTimeoutMs } = options;
  if (managementUrl === undefined) {
    return unmanagedFindings('needs the management API, see CARDAUTH_BROKER_MANAGEMENT_URL');
  }
  const api = managementApi(managementUrl, endpoint);
  // What waits here for that long is moved once its tree has ended.
  const longestHoldMs = LONGEST_CUSTODY_MS + messageTimeoutMs;
  return managedFindings({ ...options, api, broker: link.broker, longestHoldMs });
}

/** Bodies of orders end at 64 KiB; the headers of a copy fit into one frame. */
function messageSizeFinding({ broker }: Link): Finding {
  const limit = `${broker.defaultMaxMessageBytes / 1024 / 1024} MiB`;
  return findingsOf('broker.message-size').skipped(
    `max_message_size cannot be read; the default of ${broker.version} is ${limit}, copies of orders take under 1 MiB`,
  );
}
