/** What can be seen by AMQP alone: the objects that a worker uses, and what its user may do with them. */
import { findingsOf, type Finding } from '../../../ports/examination.ts';
import type { Clock } from '../../../topology/clock.ts';
import {
  assertQueue,
  deadLetterExchangeOf,
  levelQueueArguments,
  levelQueueOf,
  ordersQueueArguments,
  parkedQueueOf,
  PARKED_QUEUE_ARGUMENTS,
  type Declaring,
  type QueueArguments,
} from '../declare.ts';
import { PermanentProblem } from '../keep-open.ts';
import { setPermissionsCommand, type UsedNames } from '../least-permissions.ts';
import type { Link } from '../link.ts';
import { missingRightOf, type MissingRight } from '../missing-right.ts';
import {
  isStream,
  tryConsuming,
  tryDefaultExchange,
  tryExchange,
  tryQueue,
  tryWriting,
  type Trial,
} from './rights.ts';

export interface ObjectsOptions extends UsedNames {
  readonly levelsMs: readonly number[];
  readonly user: string;
  readonly vhost: string;
}

/** What was found, and which rights turned out to be missing on the way. */
interface Look {
  readonly findings: readonly Finding[];
  readonly missing: readonly (MissingRight | undefined)[];
}

export async function objectFindings(on: Declaring, options: ObjectsOptions): Promise<readonly Finding[]> {
  const { clock, link } = on;
  const looks = [
    await lookAtOrdersQueue(on, options),
    await lookAtExchange(link, clock, options),
    await lookAtParkedQueue(on, options),
    await lookAtLevels(on, options),
    await lookAtDefaultExchange(link, clock),
  ];
  const missing = looks.flatMap((look) => look.missing).filter((right) => right !== undefined);
  return [...looks.flatMap(({ findings }) => findings), rightsFinding(missing, options)];
}

async function lookAtOrdersQueue(on: Declaring, options: ObjectsOptions): Promise<Look> {
  const { ok, warning, error, skipped } = findingsOf('orders-queue.exists');
  const { ordersQueue: queue, mode, prefix } = options;
  const { found, trial } = await tryQueue(on.link, on.clock, queue);
  if (trial.isMissing) {
    const remedy = 'create it, or set CARDAUTH_BROKER_DECLARE=assert';
    const what = `queue ${queue} does not exist`;
    return seen(mode === 'assert' ? warning(`${what} yet: the worker creates it`) : error(what, remedy));
  }
  const consuming = await tryConsuming(on.link, on.clock, queue);
  const missing = [consuming.missing];
  if (isStream(consuming)) {
    return {
      findings: [error(`queue ${queue} is a stream: acking removes nothing`, 'use a quorum queue')],
      missing,
    };
  }
  if (found === undefined) {
    return { findings: [skipped(`queue ${queue} could not be checked: ${because(trial)}`)], missing };
  }
  const counts = `${found.messageCount} message(s) ready, ${found.consumerCount} consumer(s)`;
  const findings = [
    found.consumerCount === 0
      ? warning(`nobody consumes queue ${queue}: ${counts}`, 'start a worker')
      : ok(`queue ${queue} is there: ${counts}`),
  ];
  if (mode !== 'assert') return { findings, missing };
  const ours = await compare(on, 'orders-queue.arguments', queue, ordersQueueArguments(prefix));
  return { findings: [...findings, ...ours.findings], missing: [...missing, ...ours.missing] };
}

async function lookAtExchange(link: Link, clock: Clock, { exchange, mode }: ObjectsOptions): Promise<Look> {
  const { ok, warning, error, skipped } = findingsOf('notifications.exchange');
  const { found, trial } = await tryExchange(link, clock, exchange);
  if (trial.isMissing) {
    const what = `exchange ${exchange} does not exist`;
    const remedy = 'create it as a topic exchange, or set CARDAUTH_BROKER_DECLARE=assert';
    return seen(mode === 'assert' ? warning(`${what} yet: the worker creates it`) : error(what, remedy));
  }
  const { missing } = await tryWriting(link, clock, exchange);
  const finding =
    found === undefined
      ? skipped(`exchange ${exchange} could not be checked: ${because(trial)}`)
      : ok(`exchange ${exchange} is there`);
  return { findings: [finding], missing: [missing] };
}

/** Publishing is also what makes the broker say that it blocks publishing. */
async function lookAtDefaultExchange(link: Link, clock: Clock): Promise<Look> {
  const { ok, error } = findingsOf('broker.publishing');
  const { answer, missing } = await tryDefaultExchange(link, clock);
  if (missing !== undefined) return { findings: [], missing: [missing] };
  const remedy = 'look for a memory or disk alarm: `rabbitmq-diagnostics alarms`';
  const blocked = link.blockedBecause() ?? answer;
  return seen(blocked === undefined ? ok('what is published is confirmed') : error(blocked, remedy));
}

async function lookAtParkedQueue(on: Declaring, { prefix }: ObjectsOptions): Promise<Look> {
  const { ok, warning, skipped } = findingsOf('parked-queue.exists');
  const queue = parkedQueueOf(prefix);
  const { found, trial } = await tryQueue(on.link, on.clock, queue);
  if (trial.isMissing) return seen(skipped(`queue ${queue} does not exist yet: a worker creates it`));
  if (found === undefined) return seen(skipped(`queue ${queue} could not be checked: ${because(trial)}`));
  const { messageCount, consumerCount } = found;
  const isLeft = messageCount > 0 && consumerCount === 0;
  const finding = isLeft
    ? warning(
        `${messageCount} parked message(s) wait in ${queue}, and nobody takes them`,
        'is a worker running?',
      )
    : ok(`${messageCount} parked message(s) wait in ${queue}, ${consumerCount} consumer(s)`);
  const dlx = deadLetterExchangeOf(prefix);
  const exchange = await tryExchange(on.link, on.clock, dlx);
  const ours = await compare(on, 'parked-queue.arguments', queue, PARKED_QUEUE_ARGUMENTS);
  const lost = exchange.trial.isMissing
    ? [warning(`exchange ${dlx} does not exist: dead letters are lost`, 'restart a worker: it creates it')]
    : [];
  return { findings: [finding, ...lost, ...ours.findings], missing: ours.missing };
}

async function lookAtLevels(on: Declaring, options: ObjectsOptions): Promise<Look> {
  const { ok, skipped } = findingsOf('delay-queues.arguments');
  const { prefix, ordersQueue, levelsMs } = options;
  const looks: Look[] = [];
  let absent = 0;
  for (const levelMs of levelsMs) {
    const queue = levelQueueOf(prefix, ordersQueue, levelMs);
    const { trial } = await tryQueue(on.link, on.clock, queue);
    if (trial.isMissing) absent += 1;
    else
      looks.push(
        await compare(on, 'delay-queues.arguments', queue, levelQueueArguments(ordersQueue, levelMs)),
      );
  }
  const missing = looks.flatMap((look) => look.missing);
  const wrong = looks.flatMap(({ findings }) => findings.filter(({ status }) => status !== 'ok'));
  if (wrong.length > 0 || missing.some((right) => right !== undefined)) return { findings: wrong, missing };
  if (absent === levelsMs.length) return seen(skipped('no delay queue exists yet: a worker creates them'));
  return { findings: [ok(`${looks.length} delay queue(s) are as they should be`)], missing };
}

/** Declares what is ours and exists already once more: the broker answers with the first difference. */
async function compare(on: Declaring, check: string, queue: string, args: QueueArguments): Promise<Look> {
  const { ok, error } = findingsOf(check);
  try {
    await assertQueue(on, queue, args);
    return seen(ok(`queue ${queue} has the arguments it should have`));
  } catch (cause) {
    const missing = missingRightOf(cause instanceof Error ? cause.cause : undefined);
    if (missing !== undefined) return { findings: [], missing: [missing] };
    const what = cause instanceof Error ? cause.message : String(cause);
    const remedy = 'empty and delete it, or use another name';
    return seen(error(what, cause instanceof PermanentProblem ? remedy : undefined));
  }
}

function rightsFinding(missing: readonly MissingRight[], options: ObjectsOptions): Finding {
  const { ok, error } = findingsOf('broker.permissions');
  const { user, vhost } = options;
  if (missing.length === 0) return ok(`user ${user} may do in vhost ${vhost} what could be tried`);
  const lacks = missing.map(({ permission, kind, name }) => `${permission} on ${kind} ${name}`);
  const what = `user ${user} lacks in vhost ${vhost}: ${[...new Set(lacks)].join(', ')}`;
  return error(what, setPermissionsCommand(options, { user, vhost }));
}

function seen(finding: Finding): Look {
  return { findings: [finding], missing: [] };
}

function because({ missing, answer }: Trial): string {
  return missing === undefined ? (answer ?? 'no answer') : 'the broker asks for more rights there (403)';
}
