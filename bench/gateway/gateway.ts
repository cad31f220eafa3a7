import type { GatewayCounts, GatewayLatency } from './gateway-books.ts';

/** The gateway process, as the bench sees it. */
export interface Gateway {
  /** Where contestants send their charges. */
  readonly url: string;
  readonly pid: number;
  /** Resolves when its process has ended, which it never does by itself. */
  readonly exited: Promise<unknown>;
  /** Where its output is. */
  readonly logFile: string;
  /** Empties its books; from now on an answer takes so long. */
  begin(latencyMs: number): Promise<void>;
  counts(): Promise<GatewayCounts>;
  latency(): Promise<GatewayLatency>;
  /** Latency counts from here. */
  forgetLatency(): Promise<void>;
  /** When each order was charged, in milliseconds since the epoch, earliest first. */
  chargedAtMs(): Promise<readonly number[]>;
  /** Resolves when it is back. */
  goAway(forMs: number): Promise<void>;
}

export function gatewayAt(
  chargesPort: number,
  controlPort: number,
  process: Pick<Gateway, 'pid' | 'exited' | 'logFile'>,
): Gateway {
  const { pid, exited, logFile } = process;
  const ask = async (path: string): Promise<unknown> => {
    const response = await fetch(`http://127.0.0.1:${controlPort}${path}`);
    if (!response.ok) throw new Error(`the gateway answered ${path} with ${await response.text()}`);
    return response.json();
  };
  const tell = async (path: string): Promise<void> => {
    await ask(path);
  };
  return {
    url: `http://127.0.0.1:${chargesPort}`,
    pid,
    exited,
    logFile,
    begin: (latencyMs) => tell(`/begin?latencyMs=${latencyMs}`),
    counts: async () => (await ask('/counts')) as GatewayCounts,
    latency: async () => (await ask('/latency')) as GatewayLatency,
    forgetLatency: () => tell('/forget-latency'),
    chargedAtMs: async () => (await ask('/charged-at')) as number[],
    goAway: (forMs) => tell(`/go-away?forMs=${forMs}`),
  };
}
