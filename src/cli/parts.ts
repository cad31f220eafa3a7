import type { CardKeys } from '../config/card-keys.ts';
import type { Config } from '../config/config.ts';
import type { CardCipher } from '../ports/card-cipher.ts';
import type { StatusSources } from '../ops/status.ts';
import type { MoneyParts } from './money-parts.ts';
import type { ParkedParts } from './parked-parts.ts';
import type { AuditTrail } from '../ports/audit-trail.ts';
import type { Examination } from '../ports/examination.ts';
import type { OrderHistory } from '../ports/order-history.ts';
import type { OrderSearch } from '../ports/order-search.ts';
import type { OrderPublisher } from '../ports/order-publisher.ts';
import type { QueueDepths } from '../ports/queue-depths.ts';
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
  readonly orderSearch?: () => Promise<(config: Pick<Config, 'database'>) => Promise<OrderSearch & Closable>>;
  readonly cardCipher?: () => Promise<(keys: CardKeys) => CardCipher>;
  readonly auditTrail?: () => Promise<(config: Pick<Config, 'database'>) => Promise<AuditTrail & Closable>>;
  readonly examinations?: () => Promise<(config: Config) => readonly Examination[]>;
  readonly fleet?: () => Promise<(config: Pick<Config, 'database'>) => Fleet & Closable>;
  readonly queueDepths?: () => Promise<
    (config: Pick<Config, 'broker' | 'topology'>) => QueueDepths & Closable
  >;
  /** Orders without a verdict, announcements, reconciliation. */
  readonly money?: () => Promise<MoneyParts>;
  /** Orders that were given to a person. */
  readonly parked?: () => Promise<ParkedParts>;
  readonly simulator?: () => Promise<SimulatorPart>;
  /** Resolves to the exit code. */
  readonly demo?: () => Promise<(options: DemoOptions) => Promise<number>>;
}

/** Everything about workers and their intake that needs only the database. */
export type Fleet = Pick<StatusSources, 'intake' | 'workers' | 'overview'>;

export interface Closable {
  close(): Promise<void>;
}

export interface Migrations {
  up(): Promise<{ readonly applied: readonly string[] }>;
  status(): Promise<MigrationState>;
  /** SQL statements that give these roles their rights. Throws a RangeError on names that are none. */
  grants(roles: RoleNames): readonly string[];
  /** Runs them, in one transaction. */
  grant(roles: RoleNames): Promise<void>;
}

export interface RoleNames {
  readonly worker?: string | undefined;
  readonly operator?: string | undefined;
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
