/** What only the management API tells. */
import { findingsOf, type Finding } from '../../../ports/examination.ts';
import type { Clock } from '../../../topology/clock.ts';
import type { BrokerTraits } from '../broker-version.ts';
import { sleep } from '../deadline.ts';
import { bindingFindings, type Binding } from './bindings.ts';
import { part, type Answer, type Management } from './management.ts';
import { ordersQueueFindings, type DeadLetterRoute } from './orders-queue.ts';
import { listOf, queueFactsOf, recordOf, textOf, type QueueFacts } from './queue-facts.ts';

export interface ManagedOptions {
  readonly api: Management;
  readonly clock: Clock;
  readonly broker: BrokerTraits;
  readonly ordersQueue: string;
  readonly exchange: string;
  /** Routing keys of announcements. */
  readonly routingKeys: readonly string[];
  readonly prefetch: number;
  readonly longestHoldMs: number;
}

const CHECKS = [
  ['orders-queue.type', 'type, arguments, effective policy and dead-letter route of the orders queue'],
  ['orders-queue.delivery-limit', 'the effective delivery limit of the orders queue'],
  ['orders-queue.replicas', 'the replicas of the orders queue'],
  ['notifications.bindings', 'whether a queue is bound for announcements'],
  ['broker.alarms', 'alarms of the cluster'],
] as const;

/** Every check that the management API would have been needed for, as skipped. */
export function unmanagedFindings(because: string): readonly Finding[] {
  return CHECKS.map(([check, what]) => findingsOf(check).skipped(`${what}: ${because}`));
}

export async function managedFindings(options: ManagedOptions): Promise<readonly Finding[]> {
  const { api } = options;
  const overview = await api.get('overview');
  const trouble = troubleOf(overview);
  if (trouble !== undefined) {
    const remedy = `check CARDAUTH_BROKER_MANAGEMENT_URL; rabbitmqctl set_user_tags ${api.user} management`;
    const finding = findingsOf('broker.management').error(
      `the management API cannot be used: ${trouble}`,
      remedy,
    );
    return [finding, ...unmanagedFindings('the management API cannot be used')];
  }
  return [
    findingsOf('broker.management').ok('the management API answers'),
    ...(await alarmFindings(api)),
    ...(await queueFindings(options)),
    ...(await exchangeFindings(options)),
  ];
}

function troubleOf(answer: Answer): string | undefined {
  if (answer.kind === 'failed') return answer.because;
  if (answer.status === 401) return 'the user of AMQP_URL may not log in there (401)';
  return answer.status === 200 ? undefined : `status ${answer.status}`;
}

async function alarmFindings(api: Management): Promise<readonly Finding[]> {
  const { ok, error, skipped } = findingsOf('broker.alarms');
  const answer = await api.get('health/checks/alarms');
  if (answer.kind === 'answered' && answer.status === 200) return [ok('no memory or disk alarm')];
  if (answer.kind === 'answered' && answer.status === 503) {
    const alarms = listOf(recordOf(answer.json)['alarms']).map(
      (one) => `${text(one['resource'])} on ${text(one['node'])}`,
    );
    const what = `an alarm blocks all publishing: ${alarms.join(', ') || 'of unknown kind'}`;
    return [error(what, 'free memory or disk on the broker')];
  }
  return [skipped(`alarms were not told: ${troubleOf(answer) ?? 'no answer'}`)];
}

async function queueFindings(options: ManagedOptions): Promise<readonly Finding[]> {
  const { api, clock, ordersQueue, broker, prefetch, longestHoldMs } = options;
  const { skipped } = findingsOf('orders-queue.type');
  const facts = await ordersQueueFacts(api, clock, ordersQueue);
  if (typeof facts === 'string') return [skipped(`queue ${ordersQueue} was not told of: ${facts}`)];
  const deadLetters = await deadLetterRoute(api, facts, ordersQueue);
  const judged = ordersQueueFindings(facts, {
    queue: ordersQueue,
    broker,
    prefetch,
    longestHoldMs,
    deadLetters,
  });
  return [...judged, ...(await replicaFindings(api, facts, ordersQueue))];
}

/** Statistics of a new queue come with its next tick and the next interval, five seconds each by default. */
const STATISTICS_WITHIN_MS = 12_000;
const ASK_AGAIN_AFTER_MS = 500;

async function ordersQueueFacts(api: Management, clock: Clock, queue: string): Promise<QueueFacts | string> {
  const endMs = clock.nowMs() + STATISTICS_WITHIN_MS;
  for (;;) {
    const answer = await api.get(`queues/${part(api.vhost)}/${part(queue)}`);
    if (answer.kind === 'answered' && answer.status === 404) return 'it does not exist';
    const trouble = troubleOf(answer);
    if (trouble !== undefined || answer.kind === 'failed') return trouble ?? 'no answer';
    const facts = queueFactsOf(answer.json);
    if (facts !== undefined) return facts;
    if (clock.nowMs() >= endMs) return 'the broker has no statistics of it yet';
    await sleep(clock, ASK_AGAIN_AFTER_MS);
  }
}

async function deadLetterRoute(
  api: Management,
  facts: QueueFacts,
  ordersQueue: string,
): Promise<DeadLetterRoute> {
  const exchange = textOf(facts, 'dead-letter-exchange');
  const key = textOf(facts, 'dead-letter-routing-key');
  if (exchange === undefined) return { kind: 'none' };
  if (exchange === '') return routeByName(api, key ?? ordersQueue, ordersQueue);
  const bindings = await bindingsOf(api, exchange);
  if (typeof bindings === 'string') return { kind: 'unknown', because: bindings };
  if (bindings === undefined) return { kind: 'broken', because: `exchange ${exchange} does not exist` };
  const [first] = bindings.filter(({ destinationType }) => destinationType === 'queue');
  if (first !== undefined)
    return { kind: 'complete', to: `${exchange}, and from there to queue ${first.destination}` };
  return bindings.length > 0
    ? { kind: 'unknown', because: `${exchange} leads to other exchanges` }
    : { kind: 'broken', because: `no queue is bound to exchange ${exchange}` };
}

async function routeByName(api: Management, target: string, ordersQueue: string): Promise<DeadLetterRoute> {
  if (target === ordersQueue)
    return { kind: 'broken', because: 'back into itself, which the broker ends by dropping' };
  const answer = await api.get(`queues/${part(api.vhost)}/${part(target)}`);
  if (answer.kind === 'answered' && answer.status === 404) {
    return { kind: 'broken', because: `queue ${target} does not exist` };
  }
  const trouble = troubleOf(answer);
  return trouble === undefined
    ? { kind: 'complete', to: `queue ${target}` }
    : { kind: 'unknown', because: trouble };
}

async function replicaFindings(
  api: Management,
  facts: QueueFacts,
  queue: string,
): Promise<readonly Finding[]> {
  if (facts.type !== 'quorum') return [];
  const { ok, warning, error, skipped } = findingsOf('orders-queue.replicas');
  const [members, online] = [facts.members.length, facts.online.length];
  const text = `${online} of ${members} replica(s) of ${queue} are online`;
  if (online * 2 <= members) return [error(`${text}: it has no majority`, 'bring its nodes back')];
  if (online < members) return [warning(text, 'bring the other nodes back')];
  const answer = await api.get('nodes');
  if (answer.kind === 'failed' || answer.status !== 200) {
    return [skipped(`${text}; the number of nodes is told to users with the tag \`monitoring\` only`)];
  }
  const nodes = listOf(answer.json).length;
  return members < Math.min(3, nodes)
    ? [
        warning(
          `${text}, and there are ${nodes} nodes`,
          `rabbitmq-queues grow NODE all --queue-pattern ${queue}`,
        ),
      ]
    : [ok(`${text}, on ${nodes} node(s)`)];
}

async function exchangeFindings({ api, exchange, routingKeys }: ManagedOptions): Promise<readonly Finding[]> {
  const { skipped } = findingsOf('notifications.bindings');
  const answer = await api.get(`exchanges/${part(api.vhost)}/${part(exchange)}`);
  if (answer.kind === 'failed' || answer.status !== 200) {
    return [skipped(`exchange ${exchange} was not told of: ${troubleOf(answer) ?? 'no answer'}`)];
  }
  const bindings = await bindingsOf(api, exchange);
  if (bindings === undefined || typeof bindings === 'string') {
    return [skipped(`the bindings of ${exchange} were not told: ${bindings ?? 'it is gone'}`)];
  }
  const described = recordOf(answer.json);
  const args = recordOf(described['arguments']);
  const hasAlternate = typeof args['alternate-exchange'] === 'string';
  return bindingFindings({ exchange, type: text(described['type']), hasAlternate, bindings, routingKeys });
}

/** undefined: the exchange does not exist. */
async function bindingsOf(
  api: Management,
  exchange: string,
): Promise<readonly Binding[] | string | undefined> {
  const described = await api.get(`exchanges/${part(api.vhost)}/${part(exchange)}`);
  if (described.kind === 'answered' && described.status === 404) return undefined;
  const answer = await api.get(`exchanges/${part(api.vhost)}/${part(exchange)}/bindings/source`);
  if (answer.kind === 'failed' || answer.status !== 200) return troubleOf(answer) ?? 'no answer';
  return listOf(answer.json).map((binding) => ({
    destination: text(binding['destination']),
    destinationType: text(binding['destination_type']),
    pattern: text(binding['routing_key']),
  }));
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : 'unknown';
}
