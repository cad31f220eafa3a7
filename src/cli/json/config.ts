import * as z from 'zod';

export const shownSettings = z
  .array(
    z.object({
      name: z.string(),
      value: z.string().nullable().describe('secrets are masked; null: not set'),
      origin: z.string().describe('where the value comes from: flag, environment, a file, default'),
    }),
  )
  .describe('every variable with its effective value');
