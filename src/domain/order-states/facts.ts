import type { OrderTerms } from '../order.ts';
import type { Approved, AuthorizationOutcome, InquiryOutcome, VoidOutcome } from '../outcome.ts';
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
  /** The resolver comes by; `atOnce`: an operator, who does not wait for the order to be due. */
  | { readonly kind: 'resolve'; readonly atOnce?: true }
  /**
   * What the gateway said of `generation` when it was asked; `inquiry`: which place of the schedule that was.
   * `atOnce`: an operator asked, which uses no place of the schedule up.
   */
  | {
      readonly kind: 'inquired';
      readonly generation: number;
      readonly inquiry: number;
      readonly outcome: InquiryOutcome;
      readonly atOnce?: true;
    }
  /** What came of giving the hold `reference` back. */
  | {
      readonly kind: 'voided';
      readonly generation: number;
      readonly reference: string;
      readonly outcome: VoidOutcome;
    }
  /** An operator has evidence of what became of `generation`, where nobody else can say. */
  | {
      readonly kind: 'settled';
      readonly generation: number;
      readonly as: Approved | { readonly kind: 'declined' };
      /** The gateway was asked and does not contradict; otherwise it could not be asked. */
      readonly isCheckedAtGateway: boolean;
    }
  /** An operator wants the order tried again, as the next generation; the gateway was asked and holds nothing for it. */
  | { readonly kind: 'reopened'; readonly generation: number }
  /** An operator wants the decision announced, whether it was before or not. */
  | { readonly kind: 'resend' };

export type OutcomeFact = Extract<OrderFact, { kind: 'outcome' }>;
export type InquiryFact = Extract<OrderFact, { kind: 'inquired' }>;
