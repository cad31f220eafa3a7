/** Judges an orders queue by what the management API tells of it; pure. */
import { findingsOf, type Finding } from '../../../ports/examination.ts';
import type { BrokerTraits } from '../broker-version.ts';
import { DELIVERY_LIMIT } from '../declare.ts';
import { numberOf, textOf, type QueueFacts } from './queue-facts.ts';

export interface JudgedBy {
  readonly queue: string;
  readonly broker: BrokerTraits;
  /** Deliveries that a worker holds at once. */
  readonly prefetch: number;
  /** The longest that a worker holds one. */
  readonly longestHoldMs: number;
  readonly deadLetters: DeadLetterRoute;
}

/** `broken` says where it ends. */
export type DeadLetterRoute =
  | { readonly kind: 'complete'; readonly to: string }
  | { readonly kind: 'none' }
  | { readonly kind: 'broken'; readonly because: string }
  | { readonly kind: 'unknown'; readonly because: string };

export function ordersQueueFindings(facts: QueueFacts, by: JudgedBy): readonly Finding[] {
  return [
    typeFinding(facts, by),
    deadLetterFinding(facts, by),
    ...(facts.type === 'quorum' ? [deliveryLimitFinding(facts, by)] : []),
    consumerTimeoutFinding(facts, by),
    ...lossFindings(facts, by),
    ...(facts.settings.get('single-active-consumer')?.value === true ? [SINGLE_ACTIVE] : []),
  ];
}

function typeFinding({ type, isDurable, isAutoDelete, settings }: QueueFacts, by: JudgedBy): Finding {
  const { ok, warning, error } = findingsOf('orders-queue.type');
  const { queue, broker } = by;
  if (type === 'stream')
    return error(`queue ${queue} is a stream: acking removes nothing`, 'use a quorum queue');
  if (!isDurable) return error(`queue ${queue} is not durable: a restart deletes it`, 'declare it durable');
  if (isAutoDelete) {
    return error(`queue ${queue} is deleted with its last consumer (auto-delete)`, 'declare it without that');
  }
  if (type === 'quorum') return ok(`queue ${queue} is a durable quorum queue`);
  if (type !== 'classic') return warning(`queue ${queue} is of the type ${type}, on which nothing was tried`);
  const mirrored = broker.hasMirroredClassicQueues && settings.has('ha-mode');
  const copies = mirrored ? 'mirrored, which RabbitMQ 4.0 no longer knows' : 'on one node only';
  const what = `queue ${queue} is a classic queue, ${copies}: orders wait while its node is down and are lost with its disk`;
  return warning(what, 'move to a quorum queue');
}

function deadLetterFinding(facts: QueueFacts, { queue, deadLetters }: JudgedBy): Finding {
  const { ok, warning, error, skipped } = findingsOf('orders-queue.dead-letters');
  const remedy = 'set a dead-letter exchange with a queue bound to it, by policy or argument';
  switch (deadLetters.kind) {
    case 'unknown':
      return skipped(`where ${queue} dead-letters to is not known: ${deadLetters.because}`);
    case 'none':
      return warning(`queue ${queue} dead-letters to nowhere: what the broker drops is gone`, remedy);
    case 'broken':
      return error(`queue ${queue} dead-letters into nothing: ${deadLetters.because}`, remedy);
    case 'complete': {
      const isWeak = facts.type === 'quorum' && textOf(facts, 'dead-letter-strategy') !== 'at-least-once';
      const text = `dead letters go to ${deadLetters.to}`;
      if (!isWeak) return ok(text);
      const advice = 'dead-letter-strategy at-least-once together with overflow reject-publish';
      return warning(`${text}, but may be lost on the way (at-most-once)`, advice);
    }
  }
}

/** Below this a few restarts of a worker or broker in a row use the limit up. */
const SMALLEST_LIMIT = 10;

/** Each crash of a worker and restart of the broker counts as a delivery of everything that was prefetched. */
function deliveryLimitFinding(facts: QueueFacts, by: JudgedBy): Finding {
  const { ok, warning, error } = findingsOf('orders-queue.delivery-limit');
  const { queue, broker, prefetch, deadLetters } = by;
  const limit = effectiveLimit(facts, broker);
  if (limit === undefined) return ok(`queue ${queue} has no delivery limit`);
  const loses = deadLetters.kind === 'complete' ? 'dead-letters' : 'drops';
  const crashes = limit === 0 ? 'one crash' : `${limit} crashes or restarts`;
  const what =
    `the delivery limit of ${queue} is ${limit}: ${crashes} of a worker within an order's life, and the broker ` +
    `${loses} up to ${prefetch} good orders with it`;
  const remedy = `set the delivery limit to ${DELIVERY_LIMIT} or more, by argument or policy`;
  if (limit < SMALLEST_LIMIT) return error(`unsafe: ${what}`, remedy);
  if (loses === 'drops') return error(`unsafe: ${what}`, `${remedy}, and give it a dead-letter route`);
  return limit < DELIVERY_LIMIT ? warning(what, remedy) : ok(`the delivery limit of ${queue} is ${limit}`);
}

function effectiveLimit(facts: QueueFacts, broker: BrokerTraits): number | undefined {
  const limit = numberOf(facts, 'delivery-limit');
  if (limit === undefined) return broker.defaultDeliveryLimit;
  if (limit >= 0) return limit;
  return broker.negativeDeliveryLimit === 'no-limit' ? undefined : 0;
}

function consumerTimeoutFinding(facts: QueueFacts, by: JudgedBy): Finding {
  const { ok, error, skipped } = findingsOf('orders-queue.consumer-timeout');
  const { queue, broker, longestHoldMs } = by;
  if (broker.consumerTimeoutOn === 'quorum-queues' && facts.type !== 'quorum') {
    return ok(`${broker.version} takes no delivery of a ${facts.type} queue away`);
  }
  const timeoutMs = broker.hasConsumerTimeoutPerQueue ? numberOf(facts, 'consumer-timeout') : undefined;
  const held = `a worker holds a delivery for up to ${longestHoldMs} ms`;
  if (timeoutMs === undefined) {
    const where = "`rabbitmqctl environment` shows the broker's consumer_timeout, 1800000 ms by default";
    return skipped(`queue ${queue} sets no consumer timeout of its own, and ${held}: ${where}`);
  }
  if (timeoutMs > longestHoldMs)
    return ok(`the consumer timeout of ${queue} is ${timeoutMs} ms, and ${held}`);
  const what = `the consumer timeout of ${queue} is ${timeoutMs} ms, but ${held}: it ends the ${broker.consumerTimeoutEnds}`;
  return error(what, `set it to more than ${longestHoldMs} ms`);
}

/** Settings by which the broker takes orders out of the queue by itself. */
function lossFindings(facts: QueueFacts, { queue, deadLetters }: JudgedBy): readonly Finding[] {
  const { warning, error } = findingsOf('orders-queue.limits');
  const isKept = deadLetters.kind === 'complete';
  const findings: Finding[] = [];
  const takes = (what: string, remedy: string) => {
    const text = `${what}: the broker then ${isKept ? 'dead-letters' : 'drops'} orders`;
    findings.push(isKept ? warning(text, remedy) : error(text, remedy));
  };
  const ttlMs = numberOf(facts, 'message-ttl');
  if (ttlMs !== undefined) takes(`orders expire on ${queue} after ${ttlMs} ms`, 'remove the message TTL');
  const isBounded = facts.settings.has('max-length') || facts.settings.has('max-length-bytes');
  if (isBounded && !(textOf(facts, 'overflow') ?? 'drop-head').startsWith('reject-publish')) {
    takes(
      `queue ${queue} is full at a maximum length`,
      'set overflow reject-publish: publishers then hear of it',
    );
  }
  const expiresMs = numberOf(facts, 'expires');
  if (expiresMs !== undefined) {
    const what = `queue ${queue} is deleted, with all orders, when nobody uses it for ${expiresMs} ms`;
    findings.push(error(what, 'remove `expires`'));
  }
  return findings;
}

const SINGLE_ACTIVE = findingsOf('orders-queue.single-active-consumer').warning(
  'only one consumer at a time is served: more workers wait as stand-by and take no load off',
  'remove single-active-consumer unless that is meant',
);
