import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import type { OperatorCommand } from '../../src/domain/audit.ts';
import type { OrderTerms } from '../../src/domain/order.ts';
import type { OrderBook } from '../../src/ports/order-book.ts';
import { claim, outcome, type Store, type StoreSettings } from './order-book.ts';

const UNKNOWN = { kind: 'unknown', cause: 'no_answer', detail: 'timed out' } as const;
const DECLINED = { kind: 'declined', reason: 'card_declined', class: 'hard', code: 'lost_card' } as const;

let commands = 0;
function newCommand(): OperatorCommand {
  commands += 1;
  return { commandId: `command-${commands}`, actor: 'anna@ops', action: 'test', reason: 'a test' };
}

/** What every OrderBook makes of operators' facts. */
export function operatorFactsConformance(
  name: string,
  openStore: (settings: StoreSettings) => Promise<Store>,
): void {
  describe(`${name} takes operators' facts`, () => {
    let store: Store;
    let book: OrderBook;
    let operators: OrderBook;
    let others: OrderBook;

    before(async () => {
      store = await openStore({ leaseMs: 60_000, keyWindowMs: 3_600_000 });
      book = (await store.openWorker()).book;
      operators = (await store.openWorker()).book;
      others = (await store.openWorker()).book;
    });
    after(() => store.close());

    const settle = (terms: OrderTerms, reference: string | undefined, by = operators, command = newCommand()) => {
      const as = reference === undefined ? { kind: 'declined' as const } : { kind: 'approved' as const, reference };
      return by.apply(
        terms.orderId,
        { kind: 'settled', generation: 1, as, isCheckedAtGateway: true },
        command,
      );
    }; // prettier-ignore

    const unknown = async (): Promise<OrderTerms> => {
      const { terms } = await claim(book);
      await outcome(book, terms, 1, UNKNOWN);
      return terms;
    };

    it('settles an order without a verdict, once, and by the first of two operators', async () => {
      const terms = await unknown();
      const reference = `ref-${terms.orderId}`;
      const settled = await Promise.all([settle(terms, reference), settle(terms, undefined, others)]);
      assert.deepEqual(settled.map(({ next }) => next.step).sort(), ['announce', 'refused']);
      const { order } = await book.apply(terms.orderId, { kind: 'claim', terms });
      assert.ok(order?.status === 'ready-to-ship' || order?.status === 'denied');
    });

    it('records a settled approval under its reference, and a message then only announces it', async () => {
      const terms = await unknown();
      const reference = `ref-${terms.orderId}`;
      const { order, next } = await settle(terms, reference);
      assert.equal(order?.status, 'ready-to-ship');
      assert.equal(order.gatewayReference, reference);
      assert.equal(order.attempt?.state, 'approved');
      assert.deepEqual(next, { step: 'announce' });
      const claimed = await book.apply(terms.orderId, { kind: 'claim', terms });
      assert.deepEqual(claimed.next, { step: 'announce' });
      assert.deepEqual(claimed.order, order);
    });

    it('does not settle what another worker is just asking about', async () => {
      const terms = await unknown();
      const claimed = await book.apply(terms.orderId, { kind: 'claim', terms });
      assert.equal(claimed.next.step, 'charge');
      const { next, order } = await settle(terms, `ref-${terms.orderId}`);
      assert.equal(next.step, 'wait');
      assert.equal(order?.status, 'authorization-unknown');
    });

    it('never settles one order under the authorization of another', async () => {
      const [first, second] = [await unknown(), await unknown()];
      const reference = `ref-${first.orderId}`;
      await settle(first, reference);
      const refused = await settle(second, reference).catch((error: unknown) => error);
      assert.ok(refused instanceof Error || (refused as { next: { step: string } }).next.step === 'refused');
      const { order } = await book.apply(second.orderId, { kind: 'parked', reason: 'looked at' });
      assert.equal(order?.status, 'authorization-unknown');
    });

    it('does the same command once, and the next one anew', async () => {
      const { terms } = await claim(book);
      await outcome(book, terms, 1, DECLINED);
      const command = newCommand();
      const reopen = (generation: number, given: OperatorCommand) =>
        operators.apply(terms.orderId, { kind: 'reopened', generation }, given);
      const reopened = await reopen(1, command);
      assert.equal(reopened.order?.generation, 2);
      assert.equal(reopened.order.status, 'received');
      assert.equal(reopened.order.attempt, undefined);

      const claimed = await book.apply(terms.orderId, { kind: 'claim', terms });
      assert.deepEqual(claimed.next, {
        step: 'charge',
        idempotencyKey: `order-${terms.orderId}-2`,
        generation: 2,
        claim: 1,
      });
      const denied = await book.apply(terms.orderId, {
        kind: 'outcome',
        generation: 2,
        claim: 1,
        outcome: DECLINED,
      });
      assert.equal(denied.order?.status, 'denied');
      const repeated = await reopen(2, command);
      assert.equal(repeated.isRepeated, true);
      assert.deepEqual(repeated.order, denied.order);
      assert.equal((await reopen(2, newCommand())).order?.generation, 3);
    });

    it('lets a command that was refused be given again', async () => {
      const terms = await unknown();
      const command = newCommand();
      const resend = () => operators.apply(terms.orderId, { kind: 'resend' }, command);
      assert.equal((await resend()).next.step, 'refused');
      await settle(terms, undefined);
      assert.equal((await resend()).next.step, 'announce');
      assert.equal((await resend()).isRepeated, true);
    });

    it('gives the money back that was heard of in review, when the order is settled as declined', async () => {
      const { terms } = await claim(book);
      const reference = `ref-${terms.orderId}`;
      await outcome(book, terms, 1, { kind: 'contradicted', reason: 'amount_mismatch', reference });
      assert.equal((await settle(terms, reference)).next.step, 'refused');
      const { order } = await settle(terms, undefined);
      assert.equal(order?.status, 'denied');
      assert.deepEqual(order.attempt?.voiding, { reference, state: 'due', tries: 0 });
      const due = await book.apply(terms.orderId, { kind: 'resolve' });
      assert.equal(due.next.step, 'void');
      const early = await operators.apply(terms.orderId, { kind: 'reopened', generation: 1 }, newCommand());
      assert.equal(early.next.step, 'refused');
      await book.apply(terms.orderId, {
        kind: 'voided',
        generation: 1,
        reference,
        outcome: { kind: 'voided' },
      });
      const reopened = await operators.apply(
        terms.orderId,
        { kind: 'reopened', generation: 1 },
        newCommand(),
      );
      assert.equal(reopened.order?.generation, 2);

      // A second answer to the first try, after all: no second charge.
      const late = await outcome(book, terms, 1, { kind: 'approved', reference: `late-${terms.orderId}` });
      assert.equal(late.order?.status, 'review');
      assert.equal(late.order.gatewayReference, `late-${terms.orderId}`);
      assert.equal((await book.apply(terms.orderId, { kind: 'claim', terms })).next.step, 'park');
      const ended = await operators.apply(
        terms.orderId,
        { kind: 'settled', generation: 2, as: { kind: 'declined' }, isCheckedAtGateway: true },
        newCommand(),
      );
      assert.equal(ended.order?.status, 'denied');
      assert.equal(ended.order.attempt?.voiding?.reference, `late-${terms.orderId}`);
    });
  });
}
