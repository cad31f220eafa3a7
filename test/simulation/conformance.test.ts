/** The simulated database and gateway keep the contracts that the real ones keep: the same suites, over them. */
import { createOrderBook } from '../../src/adapters/postgres/order-book.ts';
import {
  orderBookConformance,
  softDeclineConformance,
  type Store,
  type StoreSettings,
} from '../conformance/order-book.ts';
import { silent } from '../support/silent-log.ts';
import { SimulatedDatabase } from './database.ts';
import { plannedFaults } from './faults.ts';
import { nextTurn, RealTime, worldIn } from './real-time.ts';

orderBookConformance('the order book over the simulated database', openStore);
softDeclineConformance('the order book over the simulated database', openStore);

function openStore({ leaseMs, keyWindowMs, softDeclineRetry }: StoreSettings): Promise<Store> {
  const time = new RealTime();
  const database = new SimulatedDatabase(worldIn(time, plannedFaults([])));
  const closing: (() => Promise<void>)[] = [];
  const openWorker: Store['openWorker'] = async () => {
    const process = time.process('worker');
    const book = createOrderBook({
      databaseUrl: 'postgres://127.0.0.1:5432/orders',
      leaseMs,
      keyWindowMs,
      softDeclineRetry,
      clock: process,
      log: silent,
      driver: database.driverFor(process),
    });
    book.start();
    closing.push(() => book.close({ deadlineMs: 1_000 }));
    while (book.availability.unavailableBecause() !== undefined) await nextTurn();
    return {
      book,
      die: async () => {
        const { worker = 0 } = book;
        process.kill();
        while (database.sessions.has(worker)) await nextTurn();
      },
    };
  };
  return Promise.resolve({
    openWorker,
    passTime: (ms) => {
      database.wallOffsetMs += ms;
      return Promise.resolve();
    },
    close: async () => {
      await Promise.all(closing.map((close) => close()));
      time.stop();
    },
  });
}
