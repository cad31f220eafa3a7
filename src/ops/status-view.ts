/** What `cardauth status`, `breaker show`, `pause` and `resume` print with `--json`. */
import * as z from 'zod';
import { booksView, rateView } from './books.ts';
import type { DeepReadonly } from './deep-readonly.ts';

const count = z.int().nonnegative();
const time = z.iso.datetime();

const queueView = z.object({
  role: z.string().describe('orders, parked, or a delay queue by its wait, such as "retry 5000 ms"'),
  queue: z.string(),
  ready: count.nullable(),
  consumers: count.nullable(),
  problem: z.string().nullable().describe('why the two are not known'),
});
export type QueueView = DeepReadonly<z.infer<typeof queueView>>;

const intakeView = z.object({
  paused: z.boolean(),
  by: z.string().nullable().describe('who changed it last; null: nobody ever did'),
  since: time.nullable(),
  reason: z.string().nullable(),
});
export type IntakeView = DeepReadonly<z.infer<typeof intakeView>>;

export const intakeChange = intakeView
  .extend({
    outcome: z
      .enum(['changed', 'unchanged', 'repeated'])
      .describe('unchanged: it was so already, by another command; repeated: by this very command'),
  })
  .describe('the intake as it is now, and whether this command made it so');

const valve = z.object({
  name: z.string(),
  valve: z
    .enum(['flowing', 'opening', 'probing', 'stopped'])
    .describe('opening: step by step; probing: one order at a time; stopped: the breaker is open'),
  mostInWork: count.nullable().describe('how many orders may be at work for it; null: any number'),
  because: z.string().nullable().describe('why it does not flow'),
});

export const workerValves = z
  .array(valve.extend({ worker: z.int(), host: z.string(), pid: z.int(), seenAt: time }))
  .describe('whether orders go to the gateway, worker by worker; only living ones');

const workerReport = z
  .object({
    state: z.string().describe('starting, running or draining'),
    inFlight: count,
    oldest: z
      .object({
        orderId: z.string(),
        ageMs: z.number(),
        remainingMs: z.number().describe('until it is replayed'),
        component: z.string(),
        phase: z.string(),
      })
      .nullable(),
    replaysWaiting: count,
    ordersPerSecond: z.number(),
    gateways: z.array(valve),
    holds: z.array(z.string()).describe('what holds its intake, such as operator'),
    dependencies: z.array(
      z.object({ name: z.string(), unavailableBecause: z.string().nullable().describe('null: usable') }),
    ),
    errors: z
      .array(z.object({ errorClass: z.string(), component: z.string(), count }))
      .describe('what failed orders since its start, the most frequent first; ten at most'),
  })
  .describe('as the worker itself wrote it when it was seen');

const workerView = z.object({
  worker: z.int().describe('the number of its database session'),
  host: z.string(),
  pid: z.int(),
  version: z.string(),
  isAlive: z.boolean().describe('false: it died without saying so'),
  startedAt: time,
  seenAt: time,
  report: workerReport,
});
export type WorkerView = DeepReadonly<z.infer<typeof workerView>>;

export const statusView = z
  .object({
    at: time,
    oldest: z
      .object({ orderId: z.string(), status: z.string(), ageMs: z.number() })
      .nullable()
      .describe('the order that is unfinished for the longest time and waits for no person'),
    queues: z.array(queueView).nullable(),
    inFlight: count
      .nullable()
      .describe("over all living workers; these orders are the unacked messages of the orders' queue"),
    ordersPerSecond: z.number().nullable(),
    authorizationRate: rateView.nullable(),
    unknown: count.nullable(),
    review: count.nullable(),
    parked: count.nullable(),
    unannounced: count.nullable().describe('decided and not announced yet'),
    overdueRetries: count.nullable().describe('retry copies that did not come back in time'),
    books: booksView.nullable(),
    intake: intakeView.nullable(),
    workers: z.array(workerView).nullable(),
    alerts: z.array(z.string()).describe('what a person should look at, one line each'),
    missing: z.array(z.string()).describe('what could not be asked, one line each'),
  })
  .describe(
    'how things stand, null for what is not known: see missing; with --watch, again every two seconds',
  );
export type StatusView = DeepReadonly<z.infer<typeof statusView>>;
