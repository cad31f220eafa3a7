import type { Config } from '../config/config.ts';
import type { MoneyParts } from './money-parts.ts';
import type { AuditTrail } from '../ports/audit-trail.ts';
import type { OrderHistory } from '../ports/order-history.ts';
import type { OrderPublisher } from '../ports/order-publisher.ts';
import type { FaultScript } from '../simulator/fault-script.ts';

/**
 * What the commands run, each loaded when its command is: `cardauth --help` loads none. A command whose part is
 * missing does not exist.
 */
export interface Parts {
  /** Runs until it is told to stop, with its own signals and log; resolves to the exit code. */
  readonly worker?: () => Promise<(config: Config) => Promise<number>>;
  readonly migrations?: () => Promise<(config: Pick<Config, 'database'>) => Migrations>;
  readonly orderPublisher?: () => Promise<
    (config: Pick<Config, 'broker'>) => Promise<OrderPublisher & Closable>
  >;
  readonly orderHistory?: () => Promise<
    (config: Pick<Config, 'database'>) => Promise<OrderHistory & Closable>
  >;
  readonly auditTrail?: () => Promise<(config: Pick<Config, 'database'>) => Promise<AuditTrail & Closable>>;
  /** Orders without a verdict, announcements, reconciliation. */
  readonly money?: () => Promise<MoneyParts>;
  readonly simulator?: () => Promise<SimulatorPart>;
  /** Resolves to the exit code. */
  readonly demo?: () => Promise<(options: DemoOptions) => Promise<number>>;
}

export interface Closable {
  close(): Promise<void>;
}

export interface Migrations {
  up(): Promise<{ readonly applied: readonly string[] }>;
  status(): Promise<MigrationState>;
}

export interface MigrationState {
  readonly applied: readonly string[];
  readonly pending: readonly string[];
  readonly problem: string | undefined;
}

export interface SimulatorPart {
  readonly startSimulator: (options: {
    readonly port: number;
    readonly host: string;
    readonly ledgerFile: string;
    readonly faults: FaultScript;
    readonly logger: { error(details: object, message: string): void };
  }) => Promise<{ readonly url: string } & Closable>;
  /** Throws an error that names the broken rule. */
  readonly faultScriptFromJson: (json: string) => FaultScript;
}

export interface DemoOptions {
  readonly config: Pick<Config, 'broker' | 'database'>;
  readonly orders: number;
  readonly json: boolean;
  readonly keep: boolean;
}
