import { fileURLToPath } from 'node:url';
import { cardauth } from '../../test/support/worker-process.ts';
import type { Stage } from '../stage/stage.ts';
import { addJobs } from './graphile-jobs.ts';
import type { ContestantTask } from './task.ts';

export const CONTESTANT_NAMES = ['ours', 'limit', 'straightforward', 'graphile-worker', 'dbos'] as const;
export type ContestantName = (typeof CONTESTANT_NAMES)[number];

export interface Contestant {
  readonly name: ContestantName;
  /** Of the orders of a round: slow ones get fewer, so that each round takes each about as long. */
  readonly share: number;
  /** Where its orders are when all is done; undefined for the one that keeps none and tells nobody. */
  readonly table: 'cardauth.orders' | 'orders' | undefined;
  /** Which database is copied for a round. */
  readonly template: keyof Stage['templates'];
  /** Arguments of Node, and what is added to the environment. */
  readonly command: (task: ContestantTask) => {
    readonly args: readonly string[];
    readonly env?: Readonly<Record<string, string>>;
  };
  /** Where orders are put before it starts, if not on the orders queue. */
  readonly addOrders?: (databaseUrl: string, count: number) => Promise<void>;
}

/** The real worker, all of it: claims, fingerprints, history, operators' line, logs at `info`; the defaults everywhere. */
export const ours: Contestant = {
  name: 'ours',
  share: 1,
  table: 'cardauth.orders',
  template: 'cardauth',
  command: (task) => ({
    args: [cardauth, 'worker'],
    env: {
      AMQP_URL: task.amqpUrl,
      DATABASE_URL: task.databaseUrl,
      CARDAUTH_GATEWAY_URL: task.gatewayUrl,
      CARDAUTH_GATEWAY_API_KEY: 'sk_test_bench',
      CARDAUTH_FINGERPRINT_KEY: 'a key for the bench only',
      CARDAUTH_ORDERS_QUEUE: task.ordersQueue,
      CARDAUTH_NOTIFICATIONS_EXCHANGE: task.exchange,
      CARDAUTH_BROKER_PREFIX: task.exchange.replace(/\.processed$/, ''),
      CARDAUTH_MAX_SPOUT_PENDING: String(task.prefetch),
      // Several workers on one machine; nobody probes them.
      CARDAUTH_HTTP_PORT: '0',
    },
  }),
};

const others: readonly Contestant[] = [
  { name: 'limit', share: 2, table: undefined, template: 'orderTable', command: besideThis('limit') },
  {
    name: 'straightforward',
    share: 0.4,
    table: 'orders',
    template: 'orderTable',
    command: besideThis('straightforward'),
  },
  {
    name: 'graphile-worker',
    share: 0.3,
    table: 'orders',
    template: 'orderTable',
    command: besideThis('graphile-worker'),
    addOrders: addJobs,
  },
  { name: 'dbos', share: 0.1, table: 'orders', template: 'orderTable', command: besideThis('dbos') },
];

export const CONTESTANTS: readonly Contestant[] = [ours, ...others];

function besideThis(name: string): Contestant['command'] {
  const program = fileURLToPath(new URL(`${name}-process.js`, import.meta.url));
  return (task) => ({ args: [program, JSON.stringify(task)] });
}
