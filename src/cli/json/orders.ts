import * as z from 'zod';

const count = z.int().nonnegative();

export const publishSummary = z
  .object({
    queue: z.string(),
    published: count.describe('confirmed by the broker'),
    refused: count.describe('lines that are no JSON object'),
    failed: count.describe('sent or tried, and not confirmed'),
    stopped: z.enum(['interrupted', 'broker']).nullable().describe('why reading ended before the input did'),
  })
  .describe('what became of the lines that were to be published');
