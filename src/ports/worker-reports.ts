/** What each worker says of itself every few seconds, and whether it lives. For people: nothing decides by it. */
export interface WorkerReports {
  /** Living workers and those that died without saying so, by number. */
  list(): Promise<readonly WorkerRecord[]>;
}

export interface WorkerRecord extends WorkerIdentity {
  /** The number of its database session. */
  readonly worker: number;
  /** Whether its session still holds its lock: false, it died, whatever its report says. */
  readonly isAlive: boolean;
  readonly seenAtMs: number;
  readonly report: WorkerReport;
}

export interface WorkerIdentity {
  readonly host: string;
  readonly pid: number;
  readonly version: string;
  readonly startedAtMs: number;
}

/** No card data; texts are one line each. */
export interface WorkerReport {
  /** `starting`, `running`, `draining`. */
  readonly state: string;
  /** Orders at work, in pending tuple trees. */
  readonly inFlight: number;
  /** The pending tree that is the oldest, and what it waits for. */
  readonly oldest: PendingOrder | null;
  /** Orders waiting in the process for their replay. */
  readonly replaysWaiting: number;
  /** Orders brought to an end in a second, over the last ten seconds or so. */
  readonly ordersPerSecond: number;
  readonly gateways: readonly GatewayReport[];
  /** What holds the intake, e.g. `operator`. */
  readonly holds: readonly string[];
  readonly dependencies: readonly DependencyReport[];
  /** Classes of the errors that failed tuple trees since the start, the most frequent first; ten at most. */
  readonly errors: readonly {
    readonly errorClass: string;
    readonly component: string;
    readonly count: number;
  }[];
}

export interface PendingOrder {
  readonly orderId: string;
  readonly ageMs: number;
  /** Until its tuple tree times out. */
  readonly remainingMs: number;
  readonly component: string;
  readonly phase: string;
}

export interface GatewayReport {
  readonly name: string;
  /** How its valve stands: closed breaker, opening step by step, one probe at a time, open breaker. */
  readonly valve: 'flowing' | 'opening' | 'probing' | 'stopped';
  /** How many orders may be at work for it; null: any number. */
  readonly mostInWork: number | null;
  /** Why it does not flow. */
  readonly because: string | null;
}

export interface DependencyReport {
  readonly name: string;
  /** null: it can be used. */
  readonly unavailableBecause: string | null;
}
