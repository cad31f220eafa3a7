import * as z from 'zod';

const count = z.int().nonnegative();

export const demoResult = z
  .object({
    messages: count.describe('copies included'),
    orders: count,
    readyToShip: count,
    denied: count,
    parked: count,
    authorizations: count.describe("approvals in the gateway's ledger"),
    chargedTwice: count,
    lost: count,
    notified: count,
    problems: z.array(z.string()).describe('everything that does not fit, in words'),
    p50Ms: count.describe("from the broker's confirm of an order to its announcement"),
    p99Ms: count,
    ordersPerSecond: count,
    balanced: z.boolean(),
  })
  .describe('the books of the demo');
