import { operatorFactsConformance } from './operator-facts.ts';
import { MemoryOrderBook, MemoryOrders } from '../support/memory-order-book.ts';
import {
  orderBookConformance,
  softDeclineConformance,
  type Store,
  type StoreSettings,
} from './order-book.ts';

orderBookConformance('memory', openStore);
softDeclineConformance('memory', openStore);
operatorFactsConformance('memory', openStore);

function openStore({ leaseMs, keyWindowMs, softDeclineRetry }: StoreSettings): Promise<Store> {
  const table = new MemoryOrders();
  let workers = 0;
  return Promise.resolve({
    openWorker: () => {
      const book = new MemoryOrderBook(table, ++workers);
      book.leaseMs = leaseMs;
      book.keyWindowMs = keyWindowMs;
      book.softDeclineRetry = softDeclineRetry;
      return Promise.resolve({
        book,
        die: () => {
          table.liveWorkers.delete(book.worker);
          return Promise.resolve();
        },
      });
    },
    passTime: (ms) => {
      table.nowMs += ms;
      return Promise.resolve();
    },
    close: () => Promise.resolve(),
  });
}
