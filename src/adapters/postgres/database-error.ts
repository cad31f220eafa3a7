/**
 * What a database error means, by its SQLSTATE (PostgreSQL manual, appendix A). Only the code and the name of a
 * constraint are passed on: PostgreSQL's messages and details quote values and whole rows.
 */
import pg from 'pg';

import { RetriableError } from '../../topology/errors.ts';

const MEANING: Readonly<Record<string, string>> = {
  '0A000': 'its schema has changed under a running worker (0A000)',
  '23505': 'a value is there already (23505)',
  '23514': 'a rule of the schema is broken (23514)',
  '25006': 'it is read-only (25006); is this a standby?',
  '28000': 'it refused the login (28000): check user and pg_hba.conf',
  '28P01': 'it refused the password (28P01)',
  '3D000': 'the database of that name does not exist (3D000)',
  '42501': 'the role lacks a privilege on schema cardauth (42501)',
  '42P01': 'a table is missing (42P01): run `cardauth migrate up`',
  '53100': 'its disk is full (53100)',
  '53300': 'it has no connection left (53300)',
  '55P03': 'another session holds a lock for too long (55P03)',
  '57014': 'a statement took too long and was cancelled (57014)',
  '57P01': 'the connection was ended by an administrator (57P01)',
  '57P02': 'it crashed and is restarting (57P02)',
  '57P03': 'it is starting or stopping (57P03)',
};

/** The database works and refuses this statement: the reason lies in its data, or in what it ran into. */
export class RefusedByDatabase extends Error {
  override readonly name = 'RefusedByDatabase';
  /** SQLSTATE, five characters. */
  readonly code: string;
  /** The constraint, index or trigger that refused, where there is one. */
  readonly constraint: string | undefined;

  constructor(code: string, constraint: string | undefined) {
    const rule = constraint === undefined ? '' : `, ${constraint}`;
    super(`the database refused it: ${MEANING[code] ?? `SQLSTATE ${code}`}${rule}`);
    this.code = code;
    this.constraint = constraint;
  }

  /** The values broke a rule: the same statement will be refused again. */
  get isLasting(): boolean {
    return DATA.some((prefix) => this.code.startsWith(prefix));
  }

  /** Two transactions got into each other's way; the same statement may succeed at once. */
  get isTransient(): boolean {
    return this.code === SERIALIZATION_FAILURE || this.code === DEADLOCK_DETECTED;
  }
}

/** SQLSTATE classes: cardinality, data, integrity, view check, raised by our own triggers. */
const DATA = ['21', '22', '23', '44', 'P0'];
const SERIALIZATION_FAILURE = '40001';
const DEADLOCK_DETECTED = '40P01';

/** Prepared statements of a connection were made for a schema that has changed, or are gone. */
const STALE_STATEMENTS = ['0A000', '26000'];
/** After these a connection is of no use. */
const ENDS_CONNECTION = ['08', '28', '3D', '57P', ...STALE_STATEMENTS];

/**
 * SQLSTATE classes, and single codes, that say the database cannot be used now, by anyone: connection trouble, bad
 * or missing login, database or schema, no privilege, no resources, operator intervention, I/O, read-only.
 */
const UNUSABLE = ['08', '28', '3D', '3F', '42', '53', '57', '58', '25006', ...STALE_STATEMENTS];

/** The server refused a statement; its connection is in order and may be used again. */
export function isAnsweredByServer(error: unknown): error is pg.DatabaseError {
  // By code, since the severity of an error is in the server's language.
  if (!(error instanceof pg.DatabaseError) || error.code === undefined) return false;
  const { code } = error;
  return !ENDS_CONNECTION.some((prefix) => code.startsWith(prefix));
}

export function fromDatabase(error: unknown): RetriableError | RefusedByDatabase {
  if (error instanceof RetriableError || error instanceof RefusedByDatabase) return error;
  if (error instanceof pg.DatabaseError && error.code !== undefined) {
    const { code, constraint } = error;
    if (!UNUSABLE.some((prefix) => code.startsWith(prefix))) return new RefusedByDatabase(code, constraint);
    return unusable(MEANING[code] ?? `SQLSTATE ${code}`);
  }
  return unusable(connectionTrouble(error));
}

/** The error for "the database cannot be used now". No cause is attached: loggers print causes. */
export function unusable(why: string): RetriableError {
  return new RetriableError(`the database cannot be used: ${why}`, { errorClass: 'database' });
}

/** Errors of the socket and of the driver: their texts name addresses and limits, nothing else. */
function connectionTrouble(error: unknown): string {
  if (error instanceof AggregateError) {
    return error.errors.map((each: unknown) => connectionTrouble(each)).join('; ');
  }
  if (!(error instanceof Error)) return 'unknown trouble';
  return error.message === 'Query read timeout'
    ? 'it accepted a statement and did not answer in time'
    : error.message;
}
