/**
 * What differs between brokers, as far as the worker or doctor depends on it, from what the broker says of itself when
 * it is connected to. Read at every connect: a rolling upgrade changes it under a running worker.
 *
 * A version between two known ones behaves as the older of them, one above all as the newest; a pre-release as the
 * release it leads to. What is not RabbitMQ, or tells no version, is treated with the most careful value of each.
 */

export interface BrokerTraits {
  /** `RabbitMQ`, `LavinMQ`, ... as the broker says; for people. */
  readonly product: string;
  /** `3.10.8`, `4.0.0-rc.1`, as the broker says; for people. */
  readonly version: string;
  /** Why the worker may not behave as designed on it; undefined on RabbitMQ 3.10 and later. */
  readonly concern: string | undefined;
  /** Returns after which a quorum queue without a limit of its own drops or dead-letters; undefined: never. */
  readonly defaultDeliveryLimit: number | undefined;
  /** What a negative delivery limit does. */
  readonly negativeDeliveryLimit: 'no-limit' | 'drops-at-first-return';
  /** Whether a delivery that is given back (`basic.nack`) counts towards the limit; a lost channel always does. */
  readonly countsGivenBack: boolean;
  /** How a delivery that is held for too long ends, and on which queues. */
  readonly consumerTimeoutEnds: 'channel' | 'consumer';
  readonly consumerTimeoutOn: 'all-queues' | 'quorum-queues';
  /** Whether queue argument and policy can change the consumer timeout for one queue. */
  readonly hasConsumerTimeoutPerQueue: boolean;
  /** The permissions on the object that let a passive declare through. */
  readonly passiveDeclareNeeds: 'nothing' | 'configure' | 'any';
  /** Whether classic queues may be mirrored by a policy (`ha-mode`). */
  readonly hasMirroredClassicQueues: boolean;
  readonly defaultMaxMessageBytes: number;
  /** A client that asks for smaller frames is refused. */
  readonly smallestFrameMaxBytes: number;
}

/** What amqplib knows of a broker; other members are ignored. */
export interface ServerProperties {
  readonly product?: unknown;
  readonly version?: unknown;
}

const MIB = 1024 * 1024;

export function brokerTraits(server: ServerProperties): BrokerTraits {
  const product = textOf(server.product);
  const version = textOf(server.version);
  const number = product === 'RabbitMQ' ? versionNumber(version) : undefined;
  return Object.freeze({
    product,
    version,
    concern: concernOf(product, version, number),
    ...(number === undefined ? CAREFUL : traitsOf(number)),
  });
}

type Differences = Omit<BrokerTraits, 'product' | 'version' | 'concern'>;
type VersionNumber = readonly [major: number, minor: number, patch: number];

function traitsOf(version: VersionNumber): Differences {
  const from = (...first: VersionNumber): boolean => isAtLeast(version, first);
  return {
    // release notes of 4.0.1, "Quorum Queues Now Have a Default Redelivery Limit"
    defaultDeliveryLimit: from(4, 0, 0) ? 20 : undefined,
    // the same section; on 3.10.8 -1 was seen to drop a message when it was first given back
    negativeDeliveryLimit: from(4, 0, 0) ? 'no-limit' : 'drops-at-first-return',
    // rabbitmq-server#15387 and the 4.3 guide on quorum queues, "Poison message handling"
    countsGivenBack: !from(4, 3, 0),
    // release notes of 4.3.0, "Consumer Timeouts are No Longer Evaluated for Classic Queues and Streams"
    consumerTimeoutEnds: from(4, 3, 0) ? 'consumer' : 'channel',
    consumerTimeoutOn: from(4, 3, 0) ? 'quorum-queues' : 'all-queues',
    // rabbitmq-server#5437; in 3.12.0, and in 3.11 from 3.11.15 on
    hasConsumerTimeoutPerQueue: from(3, 11, 15),
    passiveDeclareNeeds: passiveDeclareNeeds(version),
    // release notes of 4.0.1, "Classic Queues is Now a Non-Replicated Queue Type"
    hasMirroredClassicQueues: !from(4, 0, 0),
    // release notes of 4.0.1, "Default Maximum Message Size Reduced to 16 MiB"
    defaultMaxMessageBytes: (from(4, 0, 0) ? 16 : 128) * MIB,
    // release notes of 4.1.0, "Initial AMQP 0-9-1 Maximum Frame Size"
    smallestFrameMaxBytes: from(4, 1, 0) ? 8_192 : 4_096,
  };
}

/** rabbitmq-server#16085 asked for `configure` in 4.2.6 and 4.3.0; #16272, next in both series, for any permission. */
function passiveDeclareNeeds(version: VersionNumber): BrokerTraits['passiveDeclareNeeds'] {
  const [major, minor, patch] = version;
  if ((major === 4 && minor === 2 && patch === 6) || (major === 4 && minor === 3 && patch === 0))
    return 'configure';
  return isAtLeast(version, [4, 2, 7]) ? 'any' : 'nothing';
}

/** Of each difference the value that makes the worker and doctor rely on less. */
const CAREFUL: Differences = {
  defaultDeliveryLimit: 20,
  negativeDeliveryLimit: 'drops-at-first-return',
  countsGivenBack: true,
  consumerTimeoutEnds: 'channel',
  consumerTimeoutOn: 'all-queues',
  hasConsumerTimeoutPerQueue: true,
  passiveDeclareNeeds: 'configure',
  hasMirroredClassicQueues: false,
  defaultMaxMessageBytes: 16 * MIB,
  smallestFrameMaxBytes: 8_192,
};

/** TTL and at-least-once dead-lettering of quorum queues, on which the delay queues rest, came with 3.10. */
const OLDEST: VersionNumber = [3, 10, 0];

function concernOf(product: string, version: string, number: VersionNumber | undefined): string | undefined {
  if (product !== 'RabbitMQ') return `${product} is not RabbitMQ: the worker was never tried on it`;
  if (number === undefined) return `the broker's version "${version}" cannot be read`;
  if (isAtLeast(number, OLDEST)) return undefined;
  return `RabbitMQ ${version} is older than 3.10: its quorum queues have no TTL, so the delay queues cannot exist`;
}

function versionNumber(text: string): VersionNumber | undefined {
  const [, major, minor, patch = '0'] = /^(\d{1,4})\.(\d{1,4})(?:\.(\d{1,6}))?(?![\d.])/.exec(text) ?? [];
  return major === undefined ? undefined : [Number(major), Number(minor), Number(patch)];
}

function isAtLeast(version: VersionNumber, first: VersionNumber): boolean {
  const [major, minor, patch] = version;
  if (major !== first[0]) return major > first[0];
  if (minor !== first[1]) return minor > first[1];
  return patch >= first[2];
}

/** The broker may say anything, so it is cut; no text at all is `unknown`. */
function textOf(value: unknown): string {
  const text = typeof value === 'string' ? value.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 60) : '';
  return text === '' ? 'unknown' : text;
}
