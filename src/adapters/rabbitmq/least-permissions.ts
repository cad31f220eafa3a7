import type { DeclareMode } from './declare.ts';
import { quoted, type Permission } from './missing-right.ts';

/** What a worker uses on the broker. */
export interface UsedNames {
  readonly prefix: string;
  readonly ordersQueue: string;
  readonly exchange: string;
  readonly mode: DeclareMode;
}

/**
 * The patterns for `rabbitmqctl set_permissions` that a worker needs, and no more:
 *
 * - configure: what is ours, since it is always declared; in mode `assert` the other two objects as well
 * - write: ours; `amq.default`, through which copies go to queues by name and level queues bring them back; the
 *   notification exchange
 * - read: ours, since declaring a queue that dead-letters takes it, and the parked queue is bound; the orders queue
 *
 * RabbitMQ 4.2.6 and 4.3.0 ask for `configure` in mode `passive`, too; without it they are used unchecked.
 */
export function leastPermissions({
  prefix,
  ordersQueue,
  exchange,
  mode,
}: UsedNames): Readonly<Record<Permission, string>> {
  const ours = `${escaped(prefix)}\\.`;
  const [orders, processed] = [`${escaped(ordersQueue)}$`, `${escaped(exchange)}$`];
  return {
    configure: anyOf(mode === 'assert' ? [ours, orders, processed] : [ours]),
    write: anyOf([ours, 'amq\\.default$', processed]),
    read: anyOf([ours, orders]),
  };
}

/** As one line for a shell. */
export function setPermissionsCommand(names: UsedNames, account: { user: string; vhost: string }): string {
  const { configure, write, read } = leastPermissions(names);
  const patterns = [configure, write, read].map(quoted).join(' ');
  return `rabbitmqctl set_permissions --vhost ${quoted(account.vhost)} ${quoted(account.user)} ${patterns}`;
}

function anyOf(patterns: readonly string[]): string {
  return patterns.length === 1 ? `^${patterns.join('')}` : `^(${patterns.join('|')})`;
}

function escaped(name: string): string {
  return name.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}
