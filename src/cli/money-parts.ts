import type { Config } from '../config/config.ts';
import type { AttentionLists } from '../ports/attention-lists.ts';
import type { GatewayHolds } from '../ports/gateway-holds.ts';
import type { GatewayInquiry } from '../ports/gateway-inquiry.ts';
import type { Notifier } from '../ports/notifier.ts';
import type { OrderBook } from '../ports/order-book.ts';
import type { ReconciliationBook } from '../ports/reconciliation-book.ts';

/** What a verdict is decided under, beside the gateway's word. */
export type VerdictConfig = Pick<Config, 'database' | 'gateway' | 'topology' | 'orders'>;

type Opened<Part> = Part & { close(): Promise<void> };

/** What the commands about money need; each part connects when it is first used and is closed by whoever opened it. */
export interface MoneyParts {
  readonly openAttentionLists: (config: Pick<Config, 'database'>) => Opened<AttentionLists>;
  readonly openVerdictBook: (config: VerdictConfig) => Opened<OrderBook>;
  /** For facts that no policy has a say in. */
  readonly openAnnouncementBook: (config: Pick<Config, 'database'>) => Opened<OrderBook>;
  readonly openInquiry: (config: Pick<Config, 'gateway'>) => Opened<GatewayInquiry>;
  /** Rejects with a RetriableError of class `publisher_unavailable` when no broker answers within five seconds. */
  readonly openNotifier: (config: Pick<Config, 'broker'>) => Promise<Opened<Notifier>>;
  readonly openReconciliationBook: (config: Pick<Config, 'database'>) => Opened<ReconciliationBook>;
  /** The gateway's own list; undefined: it has none. */
  readonly openGatewayHolds: (config: Pick<Config, 'gateway'>) => Opened<GatewayHolds> | undefined;
  /** A ledger of the gateway's as a file. */
  readonly ledgerHolds: (
    config: Pick<Config, 'gateway'>,
    name: string,
    open: () => AsyncIterable<Uint8Array>,
  ) => GatewayHolds;
}
