import type { OperatorCommand } from '../../domain/audit.ts';
import type { OrderFact } from '../../domain/order-states.ts';
import type { OrderId } from '../../domain/order.ts';
import type { AppliedFact } from '../../ports/order-book.ts';
import type { Clock, Timer } from '../../topology/clock.ts';
import type { FactOfOrder } from './rows.ts';

/** A fact whose bringer waits for the decision. The first answer counts; the deadline gives one if nobody else does. */
export class WaitingFact implements FactOfOrder {
  readonly orderId: OrderId;
  readonly fact: OrderFact;
  readonly command: OperatorCommand | undefined;
  readonly answered: Promise<AppliedFact>;
  /** How often its order was changed by somebody else between reading and writing it. */
  timesOvertaken = 0;
  #settle: ((answer: AppliedFact | Error) => void) | undefined;
  #deadline: Timer | undefined;

  constructor({ orderId, fact, command }: FactOfOrder) {
    this.orderId = orderId;
    this.fact = fact;
    this.command = command;
    this.answered = new Promise((resolve, reject) => {
      this.#settle = (answer) => {
        if (answer instanceof Error) reject(answer);
        else resolve(answer);
      };
    });
  }

  /** In `deadlineMs` the answer is what `late` says, unless there was one before. */
  expireAfter(clock: Clock, deadlineMs: number, late: () => Error): void {
    this.#deadline = clock.setTimer(deadlineMs, () => {
      this.answer(late());
    });
  }

  get isAnswered(): boolean {
    return this.#settle === undefined;
  }

  answer(answer: AppliedFact | Error): void {
    this.#settle?.(answer);
    this.#settle = undefined;
    this.#deadline?.cancel();
  }
}
