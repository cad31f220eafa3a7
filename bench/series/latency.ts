/**
 * Latency at a steady pace (open loop): an order counts from when it was to be published by the schedule, whether or
 * not the publisher was late, to when downstream has its announcement. So nothing hides in the publisher's waiting.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { build } from 'hdr-histogram-js';
import { ours } from '../contestants/contestants.ts';
import type { Broker } from '../stage/broker.ts';
import { judge, type Judged } from '../stage/books.ts';
import { GATEWAY_LATENCY_MS } from '../stage/heat.ts';
import { untilReady } from '../stage/ready.ts';
import type { Stage } from '../stage/stage.ts';
import { untilDone } from '../stage/until-done.ts';
import { endWell, startWorkers } from '../stage/workers.ts';

/** Milliseconds. */
export interface LatencyFigure {
  /** Of the top rate. */
  readonly share: number;
  readonly ordersPerSecond: number;
  readonly orders: number;
  readonly p50Ms: number;
  readonly p90Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  readonly maxMs: number;
  /** What the gateway took by its own account. */
  readonly gatewayP50Ms: number;
  readonly gatewayP99Ms: number;
}

export interface LatencyPlan {
  /** Orders a second that the worker can do. */
  readonly topRate: number;
  readonly warmUpOrders: number;
  /** How long the pace is kept up. */
  readonly seconds: number;
}

const SHARES = [0.1, 0.5, 0.8];
const FEWEST_ORDERS = 20;

export async function measureLatency(
  stage: Stage,
  plan: LatencyPlan,
  show: (progress: string) => void,
): Promise<readonly LatencyFigure[]> {
  const figures: LatencyFigure[] = [];
  for (const share of SHARES) {
    const figure = await latencyAt(stage, plan, share);
    figures.push(figure);
    show(`latency at ${figure.ordersPerSecond.toFixed(0)} orders/s: p99 ${figure.p99Ms.toFixed(0)} ms`);
  }
  return figures;
}

async function latencyAt(stage: Stage, plan: LatencyPlan, share: number): Promise<LatencyFigure> {
  const { broker, databases, gateway, templates } = stage;
  const { warmUpOrders, seconds } = plan;
  const ordersPerSecond = plan.topRate * share;
  const orders = Math.max(FEWEST_ORDERS, Math.round(ordersPerSecond * seconds));
  const databaseUrl = await databases.create(templates.cardauth);
  await broker.clear();
  await databases.checkpoint();
  await gateway.begin(GATEWAY_LATENCY_MS);

  const receivedAtMs = new Map<string, number>();
  const announced = new Set<string>();
  const stopReceiving = await broker.receive(({ orderId, atMs }) => {
    if (!announced.has(orderId)) receivedAtMs.set(orderId, atMs);
    announced.add(orderId);
  });
  const workers = await startWorkers(stage, { contestant: ours, databaseUrl });
  await Promise.all(workers.map(untilReady));
  await broker.publish(1, warmUpOrders);
  const given = (count: number): Judged => ({ contestant: ours, databaseUrl, orders: count, announced });
  await untilDone(stage, given(warmUpOrders), workers);
  await gateway.forgetLatency();

  const startMs = await publishOnTime(broker, { first: warmUpOrders + 1, orders, ordersPerSecond });
  await untilDone(stage, given(warmUpOrders + orders), workers);
  const { p50Ms: gatewayP50Ms, p99Ms: gatewayP99Ms } = await gateway.latency();
  await endWell(workers);
  await stopReceiving();
  await judge(stage, given(warmUpOrders + orders));
  await databases.drop(databaseUrl);

  const histogram = build({ numberOfSignificantValueDigits: 3 });
  for (let n = 0; n < orders; n += 1) {
    const intendedMs = startMs + (n * 1000) / ordersPerSecond;
    const tookMs = (receivedAtMs.get(String(warmUpOrders + 1 + n)) ?? Infinity) - intendedMs;
    histogram.recordValue(Math.max(0, Math.round(tookMs * 1000)));
  }
  const percentileMs = (percentile: number): number => histogram.getValueAtPercentile(percentile) / 1000;
  return {
    share,
    ordersPerSecond,
    orders,
    p50Ms: percentileMs(50),
    p90Ms: percentileMs(90),
    p99Ms: percentileMs(99),
    p999Ms: percentileMs(99.9),
    maxMs: histogram.maxValue / 1000,
    gatewayP50Ms,
    gatewayP99Ms,
  };
}

/** Resolves to when the first was to be published, in milliseconds since the epoch, once all are confirmed. */
async function publishOnTime(
  broker: Broker,
  pace: { readonly first: number; readonly orders: number; readonly ordersPerSecond: number },
): Promise<number> {
  const { first, orders, ordersPerSecond } = pace;
  const nowMs = (): number => performance.timeOrigin + performance.now();
  const startMs = nowMs();
  let published = 0;
  while (published < orders) {
    const due = Math.min(orders, 1 + Math.floor(((nowMs() - startMs) * ordersPerSecond) / 1000));
    for (; published < due; published += 1) broker.publishOne(first + published);
    await sleep(1);
  }
  await broker.confirmed();
  return startMs;
}
