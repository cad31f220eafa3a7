import type * as z from 'zod';
import type { Secret } from '../domain/card.ts';
import type { SoftDeclineRetry } from '../domain/soft-declines.ts';
import type { CardKeys } from './card-keys.ts';
import { brokenPreconditions, type ValidValues } from './preconditions.ts';
import type { Problem } from './problem.ts';
import { collect, type Setting, type Sources } from './sources.ts';
import { environment, groups, variables, type Group, type VariableName } from './variables.ts';

/** What the worker is told from outside; frozen, and with every secret in a `Secret`. */
export interface Config {
  readonly broker: {
    /** One or several AMQP URLs, comma-separated. */
    readonly urls: Secret;
    readonly ordersQueue: string;
    readonly notificationsExchange: string;
    /** For the two objects above; what is only ours is always asserted. */
    readonly declare: 'assert' | 'passive' | 'none';
    readonly prefix: string;
    /** Paths of PEM files, for hosts whose URL names none of its own. */
    readonly tls: {
      readonly ca: string | undefined;
      readonly cert: string | undefined;
      readonly key: string | undefined;
    };
    /** Without a slash at the end. */
    readonly managementUrl: string | undefined;
  };
  readonly database: { readonly url: Secret };
  readonly gateway: {
    readonly dialect: 'stripe' | 'adyen';
    /** Without a slash at the end; undefined: Stripe's own host. */
    readonly url: string | undefined;
    /** Of adyen only. */
    readonly merchantAccount: string | undefined;
    readonly apiKey: Secret;
    readonly timeoutMs: number;
    readonly keyWindowMs: number;
    readonly inquiryWaitsMs: readonly number[];
    readonly connections: number;
  };
  readonly orders: {
    readonly defaultCurrency: string;
    /** Decimal text in major units. */
    readonly maxAmount: string;
    readonly fingerprintKey: Secret;
    /** undefined: soft declines are final. */
    readonly softDeclineRetry: SoftDeclineRetry | undefined;
    /** All of them open sealed cards, the first one seals; undefined: cards cannot be sealed or opened. */
    readonly cardKeys: CardKeys | undefined;
  };
  readonly topology: {
    readonly messageTimeoutMs: number;
    readonly leaseMs: number;
    readonly maxSpoutPending: number;
    readonly maxAttempts: number;
    readonly retryLevelsMs: readonly number[];
    readonly drainMs: number;
  };
  /** Who changes something by a command; undefined: whoever runs it. */
  readonly operator: { readonly actor: string | undefined };
  readonly transport: { readonly allowPlaintext: boolean };
  /** Port 0: no health server. */
  readonly http: { readonly host: string; readonly port: number };
  readonly log: {
    readonly level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent';
    readonly format: 'json' | 'text';
  };
}

/** Everything that a worker needs. */
export type WorkerConfig = Config;

export interface ConfigRequest<G extends Group> extends Sources {
  /** What the command needs; problems of other groups are left out. Unknown names and `transport` always count. */
  readonly groups: readonly G[];
}

/** `settings` holds every variable with its origin, whether it was asked for or not. */
export type LoadedConfig<G extends Group> =
  | { readonly ok: true; readonly config: Pick<Config, G>; readonly settings: readonly Setting[] }
  | { readonly ok: false; readonly problems: readonly Problem[]; readonly settings: readonly Setting[] };

export const allGroups = Object.keys(groups) as readonly Group[];

/** Reads the whole configuration, or says everything that is wrong with it. Never throws on bad input. */
export function loadConfig<G extends Group>(request: ConfigRequest<G>): LoadedConfig<G> {
  const { settings, problems: sourceProblems } = collect(request);
  const unreadable = new Set(sourceProblems.flatMap((problem) => problem.variables));
  const texts = textsOf(settings.filter(({ variable }) => !unreadable.has(variable.name)));
  const ruleProblems = brokenRules(texts, settings).filter(
    ({ variables: [name] }) => name === undefined || !unreadable.has(name),
  );
  const invalid = new Set([...unreadable, ...ruleProblems.flatMap((problem) => problem.variables)]);
  const problems = [
    ...sourceProblems,
    ...ruleProblems,
    ...brokenPreconditions(validValues(texts, invalid), invalid),
  ];
  const relevant = problems.filter((problem) => concerns(problem, request.groups));
  if (relevant.length > 0) return { ok: false, problems: relevant, settings };
  return { ok: true, config: build(texts, request.groups), settings };
}

type Texts = Readonly<Partial<Record<VariableName, string>>>;

function textsOf(settings: readonly Setting[]): Texts {
  return Object.fromEntries(
    settings.flatMap(({ variable, text }) => (text === undefined ? [] : [[variable.name, text]])),
  );
}

function brokenRules(texts: Texts, settings: readonly Setting[]): readonly Problem[] {
  const issues = environment.safeParse(texts).error?.issues ?? [];
  return settings.flatMap(({ variable, origin }) => {
    const issue = issues.find(({ path }) => path[0] === variable.name);
    if (issue === undefined) return [];
    const { name, rule, example } = variable;
    const from = origin === 'unset' || origin === 'environment' ? '' : ` (${origin})`;
    return [
      { variables: [name], what: `${name}${from} ${issue.message}`, rule, example: `${name}=${example}` },
    ];
  });
}

/** Of the variables that are fine by themselves, so that the rules between those are still checked. */
function validValues(texts: Texts, invalid: ReadonlySet<VariableName>): ValidValues {
  const valid = Object.fromEntries(
    variables.filter(({ name }) => !invalid.has(name)).map(({ name }) => [name, texts[name]]),
  );
  return environment.partial().parse(valid);
}

function concerns(problem: Problem, wanted: readonly Group[]): boolean {
  return problem.variables.every((name) =>
    variables.some(
      ({ name: known, group }) => known === name && (group === 'transport' || wanted.includes(group)),
    ),
  );
}

/** How each group of variables becomes its part of the Config. */
const parts: { readonly [G in Group]: z.ZodType<Config[G]> } = {
  broker: groups.broker.transform((broker) => ({
    urls: broker.AMQP_URL,
    ordersQueue: broker.CARDAUTH_ORDERS_QUEUE,
    notificationsExchange: broker.CARDAUTH_NOTIFICATIONS_EXCHANGE,
    declare: broker.CARDAUTH_BROKER_DECLARE,
    prefix: broker.CARDAUTH_BROKER_PREFIX,
    tls: Object.freeze({
      ca: broker.CARDAUTH_BROKER_CA_FILE,
      cert: broker.CARDAUTH_BROKER_CERT_FILE,
      key: broker.CARDAUTH_BROKER_KEY_FILE,
    }),
    managementUrl: broker.CARDAUTH_BROKER_MANAGEMENT_URL,
  })),
  database: groups.database.transform((database) => ({ url: database.DATABASE_URL })),
  gateway: groups.gateway.transform((gateway) => ({
    dialect: gateway.CARDAUTH_GATEWAY,
    url: gateway.CARDAUTH_GATEWAY_URL,
    merchantAccount: gateway.CARDAUTH_ADYEN_MERCHANT_ACCOUNT,
    apiKey: gateway.CARDAUTH_GATEWAY_API_KEY,
    timeoutMs: gateway.CARDAUTH_GATEWAY_TIMEOUT_MS,
    keyWindowMs: gateway.CARDAUTH_GATEWAY_KEY_WINDOW_HOURS,
    inquiryWaitsMs: Object.freeze(gateway.CARDAUTH_INQUIRY_WAITS_MS),
    connections: gateway.CARDAUTH_GATEWAY_CONNECTIONS,
  })),
  orders: groups.orders.transform((orders) => ({
    defaultCurrency: orders.CARDAUTH_CURRENCY,
    maxAmount: orders.CARDAUTH_MAX_AMOUNT,
    fingerprintKey: orders.CARDAUTH_FINGERPRINT_KEY,
    softDeclineRetry:
      orders.CARDAUTH_SOFT_DECLINE_RETRY === 'on'
        ? { waitsMs: Object.freeze(orders.CARDAUTH_SOFT_DECLINE_WAITS_MS) }
        : undefined,
    cardKeys: orders.CARDAUTH_CARD_KEY,
  })),
  topology: groups.topology.transform((topology) => ({
    messageTimeoutMs: topology.CARDAUTH_MESSAGE_TIMEOUT_MS,
    leaseMs: topology.CARDAUTH_LEASE_MS,
    maxSpoutPending: topology.CARDAUTH_MAX_SPOUT_PENDING,
    maxAttempts: topology.CARDAUTH_MAX_ATTEMPTS,
    retryLevelsMs: Object.freeze(topology.CARDAUTH_RETRY_LEVELS_MS),
    drainMs: topology.CARDAUTH_DRAIN_MS,
  })),
  operator: groups.operator.transform((operator) => ({ actor: operator.CARDAUTH_ACTOR })),
  transport: groups.transport.transform((transport) => ({
    allowPlaintext: transport.CARDAUTH_ALLOW_PLAINTEXT,
  })),
  http: groups.http.transform((http) => ({ host: http.CARDAUTH_HTTP_HOST, port: http.CARDAUTH_HTTP_PORT })),
  log: groups.log.transform((log) => ({ level: log.LOG_LEVEL, format: log.LOG_FORMAT })),
};

function build<G extends Group>(texts: Texts, wanted: readonly G[]): Pick<Config, G> {
  const built = wanted.map((group) => [group, Object.freeze(parts[group].parse(texts))] as const);
  return Object.freeze(Object.fromEntries<unknown>(built)) as Pick<Config, G>;
}
