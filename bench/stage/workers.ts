import type { Contestant } from '../contestants/contestants.ts';
import type { Stage } from './stage.ts';

export type Worker = Awaited<ReturnType<Stage['spawn']>>;

/** As cardauth's default. */
export const DEFAULT_PREFETCH = 500;

export interface WorkersWanted {
  readonly contestant: Contestant;
  readonly databaseUrl: string;
  /** Orders in flight at most, each. Default 500. */
  readonly prefetch?: number | undefined;
  /** Default 1. */
  readonly workers?: number | undefined;
}

/** Resolves when their processes exist; they take orders in when they are ready for it. */
export function startWorkers(stage: Stage, wanted: WorkersWanted): Promise<Worker[]> {
  const { contestant, databaseUrl, prefetch = DEFAULT_PREFETCH, workers = 1 } = wanted;
  const { broker, gateway } = stage;
  const { args, env } = contestant.command({
    amqpUrl: broker.url,
    databaseUrl,
    gatewayUrl: gateway.url,
    ordersQueue: broker.ordersQueue,
    exchange: broker.exchange,
    prefetch,
  });
  return Promise.all(Array.from({ length: workers }, () => stage.spawn(contestant.name, args, env)));
}

/** In good order: what is under way is settled first. Throws when that goes wrong. */
export async function endWell(workers: readonly Worker[]): Promise<void> {
  for (const { pid } of workers) process.kill(pid, 'SIGTERM');
  for (const { exited, logFile } of workers) {
    const { code, signal } = await exited;
    if (code !== 0)
      throw new Error(`a worker ended with ${String(code ?? signal)}; its output is in ${logFile}`);
  }
}
