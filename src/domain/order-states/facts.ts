import type { OrderTerms } from '../order.ts';
import type { AuthorizationOutcome, InquiryOutcome, VoidOutcome } from '../outcome.ts';
import type { TerminalStatus } from './stored-order.ts';

/** What was learned about an order. */
export type OrderFact =
  /** A message asks for the order to be authorized; with it the order is admitted and the attempt claimed. */
  | { readonly kind: 'claim'; readonly terms: OrderTerms }
  /** A message carries the order with card data that no gateway could use. */
  | { readonly kind: 'refuse'; readonly terms: OrderTerms; readonly reason: 'invalid_card_data' }
  /** What claim number `claim` of `generation` came to at the gateway. */
  | {
      readonly kind: 'outcome';
      readonly generation: number;
      readonly claim: number;
      readonly outcome: AuthorizationOutcome;
    }
  /** Downstream confirmed the notification of this status and generation. */
  | { readonly kind: 'notified'; readonly generation: number; readonly status: TerminalStatus }
  /** The message was handed to a person. */
  | { readonly kind: 'parked'; readonly reason: string }
  /** The resolver comes by. */
  | { readonly kind: 'resolve' }
  /** What the gateway said of `generation` when it was asked; `inquiry`: which place of the schedule that was. */
  | {
      readonly kind: 'inquired';
      readonly generation: number;
      readonly inquiry: number;
      readonly outcome: InquiryOutcome;
    }
  /** What came of giving the hold `reference` back. */
  | {
      readonly kind: 'voided';
      readonly generation: number;
      readonly reference: string;
      readonly outcome: VoidOutcome;
    };

export type OutcomeFact = Extract<OrderFact, { kind: 'outcome' }>;
export type InquiryFact = Extract<OrderFact, { kind: 'inquired' }>;
