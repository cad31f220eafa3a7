/**
 * A 403 of the broker, put so that somebody can act on it: who may not do what to which object, and how to allow it.
 * Only RabbitMQ 3.12 and later name the permission; before that it follows from the method that was refused.
 */
import { PermanentProblem } from './keep-open.ts';

export interface MissingRight {
  readonly user: string;
  readonly vhost: string;
  readonly kind: 'queue' | 'exchange' | 'topic';
  /** `amq.default` is the default exchange. */
  readonly name: string;
  readonly permission: Permission;
}

export type Permission = 'configure' | 'write' | 'read';

/** undefined when the error is anything else. */
export function missingRightOf(error: unknown): MissingRight | undefined {
  if (!(error instanceof Error) || !('code' in error) || error.code !== 403) return undefined;
  const [, named, kind, name, vhost, user] = REFUSAL.exec(error.message) ?? [];
  if (!isKind(kind) || name === undefined || vhost === undefined || user === undefined) return undefined;
  const permission = isPermission(named) ? named : permissionFor(methodOf(error), kind);
  return { user, vhost, kind, name, permission };
}

/** In one line, for readiness and logs; never with the password. */
export function missingRightText(missing: MissingRight): string {
  const { kind, name, permission, user, vhost } = missing;
  const patterns = ['configure', 'write', 'read'].map((one) => `<${one}>`).join(' ');
  return (
    `user ${user} has no ${permission} permission on ${kind} ${name} in vhost ${vhost}: ` +
    `rabbitmqctl set_permissions --vhost ${quoted(vhost)} ${quoted(user)} ${patterns}, ` +
    `with a <${permission}> pattern that matches ${quoted(name)} (\`cardauth doctor\` prints all three)`
  );
}

/** A missing right as what it is, permanent until a person acts; every other error as it came. */
export function namingMissingRight(error: unknown): unknown {
  const missing = missingRightOf(error);
  return missing === undefined ? error : new PermanentProblem(missingRightText(missing), { cause: error });
}

/** For a POSIX shell. */
export function quoted(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** `ACCESS_REFUSED - [read ]access to queue 'q' [in exchange 'e' ]in vhost 'v' refused for user 'u'`. */
const REFUSAL =
  /ACCESS_REFUSED - (?:(configure|write|read) )?access to (queue|exchange|topic) '(.*?)'(?: in exchange '.*')? in vhost '(.*)' refused for user '([^']*)'/s;

/** AMQP 0-9-1 class and method ids of the call that was refused. */
function permissionFor(method: string, kind: MissingRight['kind']): Permission {
  switch (method) {
    case '40.10': // exchange.declare
      return 'configure';
    case '50.10': // queue.declare; of an exchange: the one that the queue dead-letters to
      return kind === 'queue' ? 'configure' : 'write';
    case '50.20': // queue.bind
      return kind === 'queue' ? 'write' : 'read';
    case '60.40': // basic.publish
      return 'write';
    default:
      return 'read';
  }
}

function methodOf(error: Error): string {
  const classId = 'classId' in error ? String(error.classId) : '';
  const methodId = 'methodId' in error ? String(error.methodId) : '';
  return `${classId}.${methodId}`;
}

function isKind(text: string | undefined): text is MissingRight['kind'] {
  return text === 'queue' || text === 'exchange' || text === 'topic';
}

function isPermission(text: string | undefined): text is Permission {
  return text === 'configure' || text === 'write' || text === 'read';
}
