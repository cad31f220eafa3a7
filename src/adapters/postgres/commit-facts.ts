/**
 * A group commit that one bad fact cannot spoil: what fails as a group, and not because the database cannot be used,
 * is committed one by one.
 */
import { NonRetriableError, RetriableError } from '../../topology/errors.ts';
import type { Queryable } from './connection.ts';
import { RefusedByDatabase } from './database-error.ts';
import { commitTogether, type Result, type Terms } from './group-commit.ts';
import type { RecentOrders } from './recent-orders.ts';
import type { FactOfOrder } from './rows.ts';

/** How often a statement is repeated that collided with another transaction. */
const MOST_COLLISIONS = 3;

/** One answer a fact, in their order; an Error is for that fact alone. Rejects when the database cannot be used. */
export async function commitFacts(
  database: Queryable,
  facts: readonly FactOfOrder[],
  terms: Terms,
  recent: RecentOrders,
): Promise<(Result | Error)[]> {
  try {
    return await commitDespiteCollisions(database, facts, terms, recent);
  } catch (error) {
    if (error instanceof RetriableError) throw error;
  }
  const answers: (Result | Error)[] = [];
  for (const fact of facts) answers.push(await commitAlone(database, fact, terms, recent));
  return answers;
}

async function commitAlone(
  database: Queryable,
  fact: FactOfOrder,
  terms: Terms,
  recent: RecentOrders,
): Promise<Result | Error> {
  try {
    const [result = 'overtaken'] = await commitDespiteCollisions(database, [fact], terms, recent);
    return result;
  } catch (error) {
    if (error instanceof RetriableError) throw error;
    if (!(error instanceof RefusedByDatabase)) return bug(fact, error);
    const corrected = withoutReusedReference(fact, error);
    return corrected === undefined
      ? refusal(fact, error)
      : await commitAlone(database, corrected, terms, recent);
  }
}

/** Repeats the database's part only, never what led to the facts. */
async function commitDespiteCollisions(
  database: Queryable,
  facts: readonly FactOfOrder[],
  terms: Terms,
  recent: RecentOrders,
): Promise<Result[]> {
  for (let collisions = 0; ; collisions += 1) {
    try {
      return await commitTogether(database, facts, terms, recent);
    } catch (error) {
      if (!isCollision(error) || collisions === MOST_COLLISIONS) throw error;
    }
  }
}

/** Another transaction was in the way, or has just carried out the same command: that is found when it is read again. */
function isCollision(error: unknown): boolean {
  if (!(error instanceof RefusedByDatabase)) return false;
  return error.isTransient || error.constraint === 'audit_log_command_once';
}

/**
 * The gateway answered with an authorization that another order already has: not this order's answer, whatever it
 * says. The fact becomes a contradiction, without the reference, which stays where it was recorded first.
 */
function withoutReusedReference(
  refused: FactOfOrder,
  { constraint }: RefusedByDatabase,
): FactOfOrder | undefined {
  const { fact } = refused;
  if (constraint !== 'attempts_gateway_reference_key') return undefined;
  if (fact.kind !== 'outcome' && fact.kind !== 'inquired') return undefined;
  const { outcome } = fact;
  if (!('reference' in outcome)) return undefined;
  const reason = outcome.kind === 'contradicted' ? outcome.reason : 'reference_reused';
  const contradicted = { kind: 'contradicted', reason } as const;
  return {
    ...refused,
    fact: { ...fact, outcome: contradicted },
    remark: `${outcome.kind} with reference ${outcome.reference}, which another order has`,
  };
}

function refusal({ orderId, fact }: FactOfOrder, error: RefusedByDatabase): Error {
  const message = `order ${orderId}: '${fact.kind}' was not recorded: ${error.message}`;
  return error.isLasting
    ? new NonRetriableError(message, { errorClass: 'database_refused' })
    : new RetriableError(message, { errorClass: 'database' });
}

function bug({ orderId, fact }: FactOfOrder, cause: unknown): Error {
  return new Error(`bug: order ${orderId}: '${fact.kind}' could not be decided or written`, { cause });
}
