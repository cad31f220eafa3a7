/**
 * A worker reduced to one claim, for tests that kill it: claims an order (arguments: database URL, the order's terms
 * as JSON), prints `claimed` and lives on.
 */
import type { OrderTerms } from '../../src/domain/order.ts';
import { openBook } from './test-book.ts';

const [url = '', terms = ''] = process.argv.slice(2);
const { amountMinor, ...rest } = JSON.parse(terms) as Omit<OrderTerms, 'amountMinor'> & {
  amountMinor: string;
};
const book = await openBook(url);
const { next } = await book.apply(rest.orderId, {
  kind: 'claim',
  terms: { ...rest, amountMinor: BigInt(amountMinor) },
});
console.log(next.step === 'charge' ? 'claimed' : `not claimed: ${next.step}`);
