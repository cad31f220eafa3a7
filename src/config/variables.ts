import * as z from 'zod';
import { MOST_TRIES, RETRIED_FOR_MS } from '../domain/soft-declines.ts';
import { cardKeys } from './card-keys.ts';
import {
  ascendingList,
  baseUrl,
  decimalAmount,
  flag,
  hoursAsMs,
  matching,
  notImplemented,
  oneOf,
  secretHeader,
  secretText,
  secretUrl,
  secretUrls,
  wholeNumber,
} from './values.ts';

/**
 * Every variable there is: name, form, default and meaning. The loader, `config show`, `.env.example` and the
 * README's table all read this one table. Names and defaults are public contract: add, never change.
 */

export interface VariableFacts {
  readonly rule: string;
  readonly description: string;
  /** Absent where nothing may be given in this version. */
  readonly example?: string;
  /** Text that stands for an unset variable; without one, see `fallback`. */
  readonly default?: string;
  /** Said instead of a default, e.g. `none`. */
  readonly fallback?: string;
  /** Never printed, may come from the file that NAME_FILE names, may not be given as a flag. */
  readonly secret?: true;
  /** Stands for an unset variable in the demo only. */
  readonly demo?: string;
}

const facts = z.registry<VariableFacts>();

function variable<Schema extends z.ZodType>(schema: Schema, about: VariableFacts): Schema {
  if (facts.has(schema)) throw new Error(`one schema for two variables: ${about.description}`);
  facts.add(schema, about);
  return schema;
}

/** Where a file lies; whether it can be read shows when it is. */
const filePath = () => matching(/^\P{Cc}{1,4096}$/u, 'is not a path').optional();
const dayMs = 86_400_000;
/** Names of queues and exchanges: at most 255 bytes in AMQP 0-9-1, without control characters. */
const amqpName = () => matching(/^[\x21-\x7e]{1,200}$/, 'is not 1-200 visible ASCII characters');

/** Variables by what they configure; a command loads only the groups it needs. */
export const groups = {
  broker: z.object({
    AMQP_URL: variable(secretUrls(['amqp:', 'amqps:']), {
      secret: true,
      default: 'amqp://guest:guest@127.0.0.1:5672',
      rule: 'one or several amqp:// or amqps:// URLs, comma-separated',
      description: 'RabbitMQ nodes; all are tried.',
      example: 'amqps://worker:password@rabbit-1.example:5671,amqps://worker:password@rabbit-2.example:5671',
    }),
    CARDAUTH_ORDERS_QUEUE: variable(amqpName(), {
      default: 'orders',
      rule: 'a queue name of 1-200 visible ASCII characters',
      description: 'Queue that orders arrive on.',
      example: 'orders',
    }),
    CARDAUTH_NOTIFICATIONS_EXCHANGE: variable(amqpName(), {
      default: 'orders.processed',
      rule: 'an exchange name of 1-200 visible ASCII characters',
      description: 'Topic exchange that decided orders are announced on.',
      example: 'orders.processed',
    }),
    CARDAUTH_BROKER_DECLARE: variable(oneOf(['assert', 'passive', 'none']), {
      default: 'passive',
      rule: 'assert, passive or none',
      description:
        'Whether the two objects above are declared, checked or just used. What is only ours is always declared.',
      example: 'assert',
    }),
    CARDAUTH_BROKER_PREFIX: variable(
      matching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/, 'is not a name of letters, digits, dots, dashes'),
      {
        default: 'cardauth',
        rule: '1-100 letters, digits, dots, dashes or underscores, a letter or digit first',
        description: "First part of the names of the worker's own queues and exchanges.",
        example: 'cardauth',
      },
    ),
    CARDAUTH_BROKER_CA_FILE: variable(filePath(), {
      fallback: 'the CAs that Node.js trusts',
      rule: 'a path of up to 4096 characters',
      description:
        'PEM file of the CAs that may sign the certificates of `amqps://` hosts; read at each connect.',
      example: '/etc/cardauth/rabbitmq-ca.pem',
    }),
    CARDAUTH_BROKER_CERT_FILE: variable(filePath(), {
      fallback: 'none',
      rule: 'a path of up to 4096 characters, together with CARDAUTH_BROKER_KEY_FILE',
      description: "PEM file of the worker's own certificate for `amqps://` hosts; read at each connect.",
      example: '/etc/cardauth/worker.pem',
    }),
    CARDAUTH_BROKER_KEY_FILE: variable(filePath(), {
      fallback: 'none',
      rule: 'a path of up to 4096 characters, together with CARDAUTH_BROKER_CERT_FILE',
      description: 'PEM file of the private key of that certificate; read at each connect.',
      example: '/run/secrets/worker-key.pem',
    }),
    CARDAUTH_BROKER_MANAGEMENT_URL: variable(baseUrl.optional(), {
      fallback: 'none: `cardauth doctor` skips what AMQP cannot tell',
      rule: 'an http:// or https:// URL without credentials, query or fragment',
      description:
        'Management API of the broker, for `cardauth doctor` only; it logs in as AMQP_URL does, with the tag `management` or better.',
      example: 'https://rabbit-1.example:15671',
    }),
  }),

  database: z.object({
    DATABASE_URL: variable(secretUrl(['postgres:', 'postgresql:']), {
      secret: true,
      default: 'postgres://postgres@127.0.0.1:5432/postgres',
      rule: 'a postgres:// URL',
      description: 'PostgreSQL; everything of ours lives in the schema `cardauth`.',
      example: 'postgres://worker:password@db.example:5432/orders?sslmode=verify-full',
    }),
  }),

  gateway: z.object({
    CARDAUTH_GATEWAY: variable(oneOf(['stripe', 'adyen']), {
      default: 'stripe',
      rule: 'stripe or adyen',
      description: "The payment gateway's dialect.",
      example: 'stripe',
    }),
    CARDAUTH_GATEWAY_URL: variable(baseUrl.optional(), {
      fallback: "stripe's own host; required for adyen",
      rule: 'an http:// or https:// URL without credentials, query or fragment',
      description:
        'Base URL of the gateway; for adyen https://checkout-test.adyen.com or your own live one, up to the version.',
      example: 'http://127.0.0.1:8080',
    }),
    CARDAUTH_GATEWAY_API_KEY: variable(secretHeader, {
      secret: true,
      fallback: 'none, required',
      demo: 'sk_test_demo',
      rule: '1-512 visible ASCII characters',
      description: 'Secret API key at the gateway.',
      example: 'sk_test_...',
    }),
    CARDAUTH_GATEWAY_TIMEOUT_MS: variable(wholeNumber(10, 600_000), {
      default: '8000',
      rule: 'milliseconds, 10-600000',
      description: 'Hard wall of one call to the gateway.',
      example: '8000',
    }),
    CARDAUTH_GATEWAY_KEY_WINDOW_HOURS: variable(hoursAsMs(23), {
      default: '23',
      rule: 'hours, above 0 and at most 23: gateways keep idempotency keys for 24, and an hour is left as margin',
      description: 'How long after the first send the same idempotency key may be sent again.',
      example: '23',
    }),
    CARDAUTH_INQUIRY_WAITS_MS: variable(ascendingList({ min: 100, max: 7 * dayMs, maxItems: 32 }), {
      default: '15000,60000,300000,1800000,7200000,43200000,86400000',
      rule: '1-32 ascending whole numbers, comma-separated, each from 100 to 604800000 (7 days)',
      description:
        'Waits before the gateway is asked again about an order without a verdict; after the last one a person looks.',
      example: '15000,300000,7200000',
    }),
    CARDAUTH_GATEWAY_CONNECTIONS: variable(wholeNumber(1, 4096), {
      default: '512',
      rule: 'a whole number, 1-4096',
      description: 'Most connections held open to the gateway.',
      example: '512',
    }),
    CARDAUTH_ADYEN_MERCHANT_ACCOUNT: variable(
      matching(/^[\x21-\x7e]{1,100}$/, 'is not 1-100 visible ASCII characters').optional(),
      {
        fallback: 'required for adyen',
        rule: '1-100 visible ASCII characters',
        description: 'Merchant account, for adyen only.',
        example: 'ExampleCom',
      },
    ),
  }),

  orders: z.object({
    CARDAUTH_CURRENCY: variable(matching(/^[A-Z]{3}$/, 'is not three capital letters'), {
      default: 'USD',
      rule: 'an ISO 4217 code in capitals',
      description: 'Currency of orders that name none.',
      example: 'EUR',
    }),
    CARDAUTH_MAX_AMOUNT: variable(decimalAmount, {
      default: '999999.99',
      rule: 'a decimal number above 0, in major units',
      description: 'Orders above it are parked.',
      example: '5000.00',
    }),
    CARDAUTH_SOFT_DECLINE_RETRY: variable(oneOf(['off', 'on']), {
      default: 'off',
      rule: 'off or on',
      description:
        'Whether an order whose card was declined for now (e.g. insufficient funds) is tried again later.',
      example: 'on',
    }),
    CARDAUTH_SOFT_DECLINE_WAITS_MS: variable(
      ascendingList({ min: 1, max: RETRIED_FOR_MS, maxItems: MOST_TRIES - 1 }),
      {
        default: '3600000,21600000,86400000,259200000,604800000',
        rule: `1-${MOST_TRIES - 1} ascending whole numbers, comma-separated, each from 1 to ${RETRIED_FOR_MS} (30 days): more tries than ${MOST_TRIES} cost fees`,
        description:
          'Waits after the first, second, ... such decline; after the last one the order is denied.',
        example: '3600000,86400000',
      },
    ),
    CARDAUTH_FINGERPRINT_KEY: variable(secretText({ minBytes: 16 }), {
      secret: true,
      fallback: 'required outside the demo',
      demo: 'demo-fingerprint-key-not-a-secret',
      rule: 'at least 16 bytes; the same for all workers, for good',
      description: "HMAC key of the orders' fingerprints.",
      example: '$(openssl rand -hex 32)',
    }),
    CARDAUTH_CARD_KEY: variable(cardKeys.optional(), {
      secret: true,
      fallback: 'none: a sealed `card` is parked, and copies are as upstream sent the order',
      rule: 'a private RSA (2048 bits or more) or EC (P-256, P-384, P-521) JWK, a 32-byte oct JWK, or a JWK set of up to 8 such keys',
      description:
        'Opens cards that upstream sealed in the field `card`; the first key seals the card in copies that the worker makes.',
      example: '{"kty":"oct","k":"replace-me-by-32-random-bytes-in-base64urlA"}',
    }),
    CARDAUTH_WEBHOOK_URL: variable(notImplemented('webhook notifications'), {
      fallback: 'none',
      rule: 'a URL; not implemented in this version',
      description: 'Optional HTTP notifications beside the exchange.',
    }),
    CARDAUTH_WEBHOOK_SECRET: variable(notImplemented('webhook notifications'), {
      secret: true,
      fallback: 'none',
      rule: 'a secret; not implemented in this version',
      description: 'Signs webhook notifications.',
    }),
  }),

  topology: z.object({
    CARDAUTH_MESSAGE_TIMEOUT_MS: variable(wholeNumber(100, 3_600_000), {
      default: '30000',
      rule: 'milliseconds, 100-3600000',
      description: 'Tuple tree timeout: an order that is not done by then is replayed.',
      example: '30000',
    }),
    CARDAUTH_LEASE_MS: variable(wholeNumber(100, 3_600_000), {
      default: '25000',
      rule: 'milliseconds, 100-3600000',
      description: 'How long a claim on an order stands.',
      example: '25000',
    }),
    CARDAUTH_MAX_SPOUT_PENDING: variable(wholeNumber(1, 65_535), {
      default: '500',
      rule: 'a whole number, 1-65535',
      description: 'Hard cap on live tuple trees; prefetch follows from it.',
      example: '500',
    }),
    CARDAUTH_MAX_ATTEMPTS: variable(wholeNumber(1, 1000), {
      default: '8',
      rule: 'a whole number, 1-1000',
      description: 'Replays before an order is parked.',
      example: '8',
    }),
    CARDAUTH_RETRY_LEVELS_MS: variable(ascendingList({ min: 1, max: dayMs, maxItems: 16 }), {
      default: '1000,5000,30000,120000,600000,3600000',
      rule: '1-16 ascending whole numbers, comma-separated, each from 1 to 86400000 (24 h)',
      description: 'Waits before a replay, one delay queue each.',
      example: '1000,30000,600000',
    }),
    CARDAUTH_DRAIN_MS: variable(wholeNumber(0, 600_000), {
      default: '25000',
      rule: 'milliseconds, 0-600000',
      description: 'How long a stopping worker waits for orders in flight.',
      example: '25000',
    }),
  }),

  operator: z.object({
    CARDAUTH_ACTOR: variable(
      matching(/^(?=.*\S)[^\p{Cc}\p{Zl}\p{Zp}]{1,200}$/u, 'is not 1-200 printable characters').optional(),
      {
        fallback: 'your user name and host',
        rule: '1-200 printable characters',
        description: 'Who gives the commands that change something: the name that the audit log keeps.',
        example: 'anna@ops-1',
      },
    ),
  }),

  transport: z.object({
    CARDAUTH_ALLOW_PLAINTEXT: variable(flag, {
      default: 'false',
      rule: 'true or false',
      description:
        'Allows unencrypted or unverified connections to broker, database and gateway on other hosts.',
      example: 'true',
    }),
  }),

  http: z.object({
    CARDAUTH_HTTP_HOST: variable(matching(/^[A-Za-z0-9.:_-]{1,253}$/, 'is not a host name or address'), {
      default: '127.0.0.1',
      rule: 'a host name or an IP address',
      description: 'Where `/livez` and `/readyz` are served.',
      example: '0.0.0.0',
    }),
    CARDAUTH_HTTP_PORT: variable(wholeNumber(0, 65_535), {
      default: '9464',
      rule: 'a port, 0-65535; 0 switches it off',
      description: 'Port of the above.',
      example: '9464',
    }),
  }),

  log: z.object({
    LOG_LEVEL: variable(oneOf(['trace', 'debug', 'info', 'warn', 'error', 'silent']), {
      default: 'info',
      rule: 'trace, debug, info, warn, error or silent',
      description: 'Least important lines that are logged.',
      example: 'debug',
    }),
    LOG_FORMAT: variable(oneOf(['json', 'text']), {
      default: 'json',
      rule: 'json or text',
      description: 'One JSON object a line, or text for people. Logs go to stdout.',
      example: 'text',
    }),
  }),
};

export type Group = keyof typeof groups;

/** All groups as one flat object, as an environment is. */
export const environment = z.object({
  ...groups.broker.shape,
  ...groups.database.shape,
  ...groups.gateway.shape,
  ...groups.orders.shape,
  ...groups.topology.shape,
  ...groups.operator.shape,
  ...groups.transport.shape,
  ...groups.http.shape,
  ...groups.log.shape,
});

export type VariableName = keyof typeof environment.shape;
export type Values = z.output<typeof environment>;

export interface Variable extends VariableFacts {
  readonly name: VariableName;
  readonly group: Group;
}

/** In the order of the table above. */
export const variables: readonly Variable[] = Object.entries(groups).flatMap(([group, { shape }]) =>
  Object.entries(shape).map(([name, schema]: [string, z.ZodType]) => {
    const about = facts.get(schema);
    if (about === undefined)
      throw new Error(`variable ${name} has no description in src/config/variables.ts`);
    return { ...about, name: name as VariableName, group: group as Group };
  }),
);
