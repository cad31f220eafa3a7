import type { OrderId, ParkReason } from '../domain/order.ts';
import type { OrderMessage } from './message.ts';

/** Where orders wait for a person. */
export interface ParkingLot {
  /** Resolves when the copy is durable (published, routed and confirmed); rejects with a retriable error otherwise. */
  park(parked: ParkedOrder): Promise<void>;
}

export interface ParkedOrder {
  readonly orderId: OrderId | undefined;
  readonly reason: ParkReason;
  /** Groups reasons by who acts: upstream sent it wrong, a person must look, or infrastructure gave up. */
  readonly class: 'input' | 'review' | 'exhausted';
  /** What happened, for people: no card data, at most 2 KiB. */
  readonly error: string;
  readonly message: OrderMessage;
  /** Whether the body could be read as an order: what could not is parked redacted. */
  readonly readable: boolean;
}
