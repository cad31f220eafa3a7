import { waitFor, type WaitOptions } from '../support/wait-for.ts';
import type { WorkerProcess } from '../support/worker-process.ts';
import { freePort, type Environment, type Stage } from './stage.ts';

/** A worker whose health server is asked, as an orchestrator would. */
export interface ObservedWorker {
  readonly process: WorkerProcess;
  /** Waits until it is not ready for a reason like this, and returns all reasons as one text. */
  unready(reason: RegExp, options?: WaitOptions): Promise<string>;
  ready(options?: WaitOptions): Promise<void>;
  /** What stands in its way now; undefined when it is ready. */
  reasons(): Promise<string | undefined>;
}

export async function startObserved(
  stage: Stage,
  change: Environment = {},
  until: 'ready' | 'started' = 'ready',
): Promise<ObservedWorker> {
  const port = await freePort();
  const process = await stage.startWorker({ ...change, CARDAUTH_HTTP_PORT: String(port) }, until);

  async function reasons(): Promise<string | undefined> {
    const response = await fetch(`http://127.0.0.1:${port}/readyz`);
    const { ready, reasons } = (await response.json()) as { ready: boolean; reasons: string[] };
    if ((response.status === 200) !== ready) throw new Error(`HTTP ${response.status} with ready: ${ready}`);
    return ready ? undefined : reasons.join('\n');
  }

  return {
    process,
    reasons,
    unready: (reason, options) =>
      waitFor(
        `the worker to be unready because of ${String(reason)}`,
        async () => {
          const text = await reasons();
          return text !== undefined && reason.test(text) ? text : undefined;
        },
        options,
      ),
    async ready(options) {
      await waitFor('the worker to be ready', async () => (await reasons()) === undefined, options);
    },
  };
}
