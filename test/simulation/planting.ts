/** How bugs are planted: by wrapping what a process is given, or by replacing a method. */
import type { Channel, ChannelModel, ConfirmChannel, ConsumeMessage } from 'amqplib';

import type { Outside } from '../../src/app.ts';
import type { Driver, Queryable } from '../../src/adapters/postgres/connection.ts';
import type { Dial } from '../../src/adapters/rabbitmq/connection.ts';
import { Generation } from '../../src/adapters/rabbitmq/generation.ts';
import type { Decision } from '../../src/domain/order-states.ts';
import type { GatewayInquiry } from '../../src/ports/gateway-inquiry.ts';
import type { Gateway } from '../../src/ports/gateway.ts';
import type { AlterOperator } from './operator-ports.ts';
import type { FactRow } from './tables.ts';
import type { Alter } from './worker.ts';

export interface Plant {
  readonly name: string;
  readonly alter?: Alter;
  readonly alterOperator?: AlterOperator;
  /** Replaces something for all processes; gives back what undoes it. */
  readonly patch?: () => () => void;
}

type Port = ReturnType<Outside['openGateway']>;

/** Replaces a method; gives back what undoes that. */
export function replace<T extends object, K extends keyof T>(
  target: T,
  method: K,
  make: (original: T[K]) => T[K],
): () => void {
  const original = target[method];
  target[method] = make(original);
  return () => {
    target[method] = original;
  };
}

export function charging(
  { order, alarm }: Pick<Decision, 'order' | 'alarm'>,
  { idempotencyKey, claim }: { readonly idempotencyKey: string; readonly claim: number },
): Decision {
  return {
    order,
    alarm,
    next: { step: 'charge', idempotencyKey, generation: order?.generation ?? 1, claim },
  };
}

export function withGateway(
  change: (port: Port, random: Outside['random']) => Partial<Gateway & GatewayInquiry>,
): Alter {
  return (outside) => ({
    ...outside,
    openGateway: (config, log) => {
      const port = outside.openGateway(config, log);
      return { ...port, ...change(port, outside.random) };
    },
  });
}

/** Changes what a statement gives. */
export function withStatements(
  change: (statement: string, rows: readonly object[]) => readonly object[],
): Alter {
  return (outside) =>
    withPool(outside, (pool) => async (statement, values) => {
      const rows = await pool.query<object>(statement, values);
      return change(statement.name, rows);
    });
}

/** Every write claims to be the next version of whatever is stored by now. */
export function withoutFence(): Alter {
  return (outside, { database }) =>
    withPool(outside, (pool) => (statement, values) => {
      if (statement.name !== 'write orders') return pool.query(statement, values);
      const facts = JSON.parse(values[0] as string) as readonly FactRow[];
      const version = ({ order_id: orderId }: FactRow) =>
        (database.tables.orders.get(orderId)?.version ?? 0) + 1;
      return pool.query(statement, [
        JSON.stringify(facts.map((fact) => ({ ...fact, version: version(fact) }))),
      ]);
    });
}

function withPool(
  outside: Outside,
  change: (pool: Queryable) => (...call: Parameters<Queryable['query']>) => Promise<readonly object[]>,
): Outside {
  const { driver } = outside;
  if (driver === undefined) throw new Error('a simulated worker always has a driver');
  const openPool: Driver['openPool'] = (options) => {
    const pool = driver.openPool(options);
    return { close: () => pool.close(), query: change(pool) as Queryable['query'] };
  };
  return { ...outside, driver: { ...driver, openPool } };
}

export function withChannels(change: (channel: Channel) => void): Alter {
  return (outside) => ({ ...outside, dial: changedDial(outside.dial, change) });
}

function changedDial(dial: Dial | undefined, change: (channel: Channel) => void): Dial {
  if (dial === undefined) throw new Error('a simulated worker always has a broker');
  return async (...call): Promise<ChannelModel> => {
    const model = await dial(...call);
    const create = model.createChannel.bind(model);
    const changed = async (): Promise<Channel> => {
      const channel = await create();
      change(channel);
      return channel;
    };
    model.createChannel = changed;
    model.createConfirmChannel = changed as () => Promise<ConfirmChannel>;
    return model;
  };
}

/** Settles by tag on whatever channel the process consumes from now, as if tags were the connection's. */
export function staleTags(): Pick<Plant, 'alter' | 'patch'> {
  const consumes = new WeakMap<ConsumeMessage, { newest: Channel | undefined }>();
  return {
    alter: (outside) => {
      const mine: { newest: Channel | undefined } = { newest: undefined };
      const dial = changedDial(outside.dial, (channel) => {
        const consume = channel.consume.bind(channel);
        channel.consume = (queue, receive, options) => {
          mine.newest = channel;
          return consume(
            queue,
            (message) => {
              if (message !== null) consumes.set(message, mine);
              receive(message);
            },
            options,
          );
        };
      });
      return { ...outside, dial };
    },
    patch: () =>
      replace(
        Generation.prototype,
        'settle',
        (own) =>
          function (this: Generation, message, verdict) {
            if (this.isOpen) return own.call(this, message, verdict);
            try {
              consumes.get(message)?.newest?.[verdict === 'ack' ? 'ack' : 'nack'](message);
            } catch {
              return false;
            }
            return true;
          },
      ),
  };
}
