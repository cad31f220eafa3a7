import * as z from 'zod';

const names = z.array(z.string().describe('a migration, such as 0001-order-book'));

export const migrationsApplied = z
  .object({ applied: names })
  .describe('the migrations that this run has applied; empty when the schema was up to date');

export const migrationStatus = z
  .object({
    applied: names,
    pending: names,
    problem: z.string().nullable().describe('why the schema fits this program neither way'),
  })
  .describe("where the database's schema stands");
