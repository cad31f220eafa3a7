import type { Problem } from './problem.ts';
import { isVerifiedOrLocal } from './transport.ts';
import type { Values, VariableName } from './variables.ts';

/**
 * Rules between variables; a configuration that breaks one does not start. They keep the deadlines nested (a call
 * ends before its claim lapses, a claim before its order is replayed, a replay before the broker takes the delivery
 * away), the replays inside the gateway's key window, and card data off plain connections. Source: the reliability
 * design, preconditions and section 5.
 */

/** Time for committing the outcome after the gateway has answered. */
export const RECORDING_MARGIN_MS = 500;
/** Time for the confirmed notification after the outcome was committed. */
export const NOTIFICATION_MARGIN_MS = 500;
/** RabbitMQ closes the channel of a consumer that holds a delivery for longer (default of its consumer_timeout). */
export const BROKER_CONSUMER_TIMEOUT_MS = 1_800_000;

/** The longest that an order is at work once it was sent to the gateway. */
export function longestFlightMs(gatewayTimeoutMs: number): number {
  return gatewayTimeoutMs + RECORDING_MARGIN_MS + NOTIFICATION_MARGIN_MS;
}

/**
 * The latest that the last counted replay may start after the first send: every wait as long as the longest level, and
 * every run as long as the message timeout, whatever the replay policy. Replays that are not counted (a service is
 * away) have no bound; the key window itself, checked at every claim, stops those.
 */
export function replayHorizonMs(settings: {
  maxAttempts: number;
  retryLevelsMs: readonly number[];
  messageTimeoutMs: number;
}): number {
  const { maxAttempts, retryLevelsMs, messageTimeoutMs } = settings;
  return maxAttempts * (messageTimeoutMs + Math.max(...retryLevelsMs));
}

/** Values of the variables that are fine by themselves. */
export type ValidValues = { readonly [Name in VariableName]?: Values[Name] | undefined };

/** What is wrong between variables, none of which is among the `invalid` ones. */
export function brokenPreconditions(
  values: ValidValues,
  invalid: ReadonlySet<VariableName>,
): readonly Problem[] {
  return preconditions.flatMap(({ variables, rule, example, complaint }) => {
    if (variables.some((name) => invalid.has(name))) return [];
    // All listed variables are valid, and a complaint reads no others.
    const what = complaint(values as Values);
    return what === undefined ? [] : [{ variables, what, rule, example }];
  });
}

interface Precondition {
  readonly variables: readonly VariableName[];
  readonly rule: string;
  readonly example: string;
  /** What is wrong, or undefined. Reads only the listed variables. */
  readonly complaint: (values: Values) => string | undefined;
}

const plaintextRule = 'an encrypted and verified connection, unless the host is this one';
const plaintextExample = 'CARDAUTH_ALLOW_PLAINTEXT=true, if the network in between is trusted';

const preconditions: readonly Precondition[] = [
  {
    variables: ['CARDAUTH_GATEWAY', 'CARDAUTH_ADYEN_MERCHANT_ACCOUNT'],
    rule: 'the merchant account that adyen books payments to',
    example: 'CARDAUTH_ADYEN_MERCHANT_ACCOUNT=ExampleCom',
    complaint: ({ CARDAUTH_GATEWAY: dialect, CARDAUTH_ADYEN_MERCHANT_ACCOUNT: account }) =>
      dialect === 'adyen' && account === undefined
        ? 'CARDAUTH_GATEWAY=adyen needs CARDAUTH_ADYEN_MERCHANT_ACCOUNT, which is not set'
        : undefined,
  },
  {
    variables: ['CARDAUTH_GATEWAY', 'CARDAUTH_GATEWAY_URL'],
    rule: "adyen's address: its test system, or the live one, https://PREFIX-checkout-live.adyenpayments.com/checkout, with your own prefix",
    example: 'CARDAUTH_GATEWAY_URL=https://checkout-test.adyen.com',
    complaint: ({ CARDAUTH_GATEWAY: dialect, CARDAUTH_GATEWAY_URL: url }) =>
      dialect === 'adyen' && url === undefined
        ? 'CARDAUTH_GATEWAY=adyen needs CARDAUTH_GATEWAY_URL, which is not set'
        : undefined,
  },
  {
    variables: ['CARDAUTH_LEASE_MS', 'CARDAUTH_GATEWAY_TIMEOUT_MS'],
    rule: `CARDAUTH_LEASE_MS is longer than CARDAUTH_GATEWAY_TIMEOUT_MS + ${RECORDING_MARGIN_MS} ms for recording + ${NOTIFICATION_MARGIN_MS} ms for the notification`,
    example: 'CARDAUTH_GATEWAY_TIMEOUT_MS=8000 CARDAUTH_LEASE_MS=25000',
    complaint: ({ CARDAUTH_LEASE_MS: leaseMs, CARDAUTH_GATEWAY_TIMEOUT_MS: gatewayMs }) =>
      leaseMs > longestFlightMs(gatewayMs)
        ? undefined
        : `CARDAUTH_LEASE_MS (${leaseMs}) ends before a call of CARDAUTH_GATEWAY_TIMEOUT_MS (${gatewayMs}) is recorded`,
  },
  {
    variables: ['CARDAUTH_MESSAGE_TIMEOUT_MS', 'CARDAUTH_LEASE_MS'],
    rule: 'CARDAUTH_MESSAGE_TIMEOUT_MS is longer than CARDAUTH_LEASE_MS',
    example: 'CARDAUTH_LEASE_MS=25000 CARDAUTH_MESSAGE_TIMEOUT_MS=30000',
    complaint: ({ CARDAUTH_MESSAGE_TIMEOUT_MS: messageMs, CARDAUTH_LEASE_MS: leaseMs }) =>
      messageMs > leaseMs
        ? undefined
        : `CARDAUTH_MESSAGE_TIMEOUT_MS (${messageMs}) is not longer than CARDAUTH_LEASE_MS (${leaseMs})`,
  },
  {
    variables: ['CARDAUTH_MESSAGE_TIMEOUT_MS'],
    rule: `shorter than ${BROKER_CONSUMER_TIMEOUT_MS} ms, after which RabbitMQ takes deliveries away`,
    example: 'CARDAUTH_MESSAGE_TIMEOUT_MS=30000',
    complaint: ({ CARDAUTH_MESSAGE_TIMEOUT_MS: messageMs }) =>
      messageMs < BROKER_CONSUMER_TIMEOUT_MS
        ? undefined
        : `CARDAUTH_MESSAGE_TIMEOUT_MS (${messageMs}) reaches the broker's consumer timeout`,
  },
  {
    variables: ['CARDAUTH_DRAIN_MS', 'CARDAUTH_GATEWAY_TIMEOUT_MS'],
    rule: `CARDAUTH_DRAIN_MS is longer than CARDAUTH_GATEWAY_TIMEOUT_MS + ${RECORDING_MARGIN_MS} ms + ${NOTIFICATION_MARGIN_MS} ms`,
    example: 'CARDAUTH_GATEWAY_TIMEOUT_MS=8000 CARDAUTH_DRAIN_MS=25000',
    complaint: ({ CARDAUTH_DRAIN_MS: drainMs, CARDAUTH_GATEWAY_TIMEOUT_MS: gatewayMs }) =>
      drainMs > longestFlightMs(gatewayMs)
        ? undefined
        : `CARDAUTH_DRAIN_MS (${drainMs}) ends before a call of CARDAUTH_GATEWAY_TIMEOUT_MS (${gatewayMs}) is done`,
  },
  {
    variables: [
      'CARDAUTH_GATEWAY_KEY_WINDOW_HOURS',
      'CARDAUTH_MAX_ATTEMPTS',
      'CARDAUTH_RETRY_LEVELS_MS',
      'CARDAUTH_MESSAGE_TIMEOUT_MS',
    ],
    rule: 'the key window is longer than all replays together: CARDAUTH_MAX_ATTEMPTS times the last of CARDAUTH_RETRY_LEVELS_MS and a message timeout, and one message timeout more for a request in flight',
    example:
      'CARDAUTH_GATEWAY_KEY_WINDOW_HOURS=23 CARDAUTH_MAX_ATTEMPTS=8 CARDAUTH_RETRY_LEVELS_MS=1000,30000,3600000',
    complaint: (values) => {
      const messageTimeoutMs = values.CARDAUTH_MESSAGE_TIMEOUT_MS;
      const horizonMs = replayHorizonMs({
        maxAttempts: values.CARDAUTH_MAX_ATTEMPTS,
        retryLevelsMs: values.CARDAUTH_RETRY_LEVELS_MS,
        messageTimeoutMs,
      });
      if (values.CARDAUTH_GATEWAY_KEY_WINDOW_HOURS > horizonMs + messageTimeoutMs) return undefined;
      return `CARDAUTH_GATEWAY_KEY_WINDOW_HOURS ends before the last replay, ${Math.ceil(horizonMs / 1000)} s after the first send`;
    },
  },
  {
    variables: ['AMQP_URL', 'CARDAUTH_ALLOW_PLAINTEXT'],
    rule: plaintextRule,
    example: `AMQP_URL=amqps://... or ${plaintextExample}`,
    complaint: ({ AMQP_URL: urls, CARDAUTH_ALLOW_PLAINTEXT: allowed }) =>
      allowed ||
      urls
        .reveal()
        .split(',')
        .map((url) => url.trim())
        .every(isVerifiedOrLocal)
        ? undefined
        : 'AMQP_URL has an unencrypted connection to another host',
  },
  {
    variables: ['CARDAUTH_BROKER_CERT_FILE', 'CARDAUTH_BROKER_KEY_FILE'],
    rule: 'a certificate and its private key, or neither',
    example: 'CARDAUTH_BROKER_CERT_FILE=worker.pem CARDAUTH_BROKER_KEY_FILE=worker-key.pem',
    complaint: ({ CARDAUTH_BROKER_CERT_FILE: cert, CARDAUTH_BROKER_KEY_FILE: key }) =>
      (cert === undefined) === (key === undefined)
        ? undefined
        : 'of CARDAUTH_BROKER_CERT_FILE and CARDAUTH_BROKER_KEY_FILE only one is set',
  },
  {
    variables: ['CARDAUTH_BROKER_MANAGEMENT_URL', 'CARDAUTH_ALLOW_PLAINTEXT'],
    rule: plaintextRule,
    example: `CARDAUTH_BROKER_MANAGEMENT_URL=https://... or ${plaintextExample}`,
    complaint: ({ CARDAUTH_BROKER_MANAGEMENT_URL: url, CARDAUTH_ALLOW_PLAINTEXT: allowed }) =>
      allowed || url === undefined || isVerifiedOrLocal(url)
        ? undefined
        : 'CARDAUTH_BROKER_MANAGEMENT_URL has an unencrypted connection to another host',
  },
  {
    variables: ['DATABASE_URL', 'CARDAUTH_ALLOW_PLAINTEXT'],
    rule: plaintextRule,
    example: `DATABASE_URL=postgres://...?sslmode=verify-full or ${plaintextExample}`,
    complaint: ({ DATABASE_URL: url, CARDAUTH_ALLOW_PLAINTEXT: allowed }) =>
      allowed || isVerifiedOrLocal(url.reveal())
        ? undefined
        : 'DATABASE_URL has an unencrypted or unverified connection to another host',
  },
  {
    variables: ['CARDAUTH_GATEWAY_URL', 'CARDAUTH_ALLOW_PLAINTEXT'],
    rule: plaintextRule,
    example: `CARDAUTH_GATEWAY_URL=https://... or ${plaintextExample}`,
    complaint: ({ CARDAUTH_GATEWAY_URL: url, CARDAUTH_ALLOW_PLAINTEXT: allowed }) =>
      allowed || url === undefined || isVerifiedOrLocal(url)
        ? undefined
        : 'CARDAUTH_GATEWAY_URL has an unencrypted connection to another host',
  },
];
