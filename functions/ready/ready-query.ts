import * as z from 'zod';

/** The query of `GET /ready`. */
export const readyQuery = z.strictObject({
  include: z
    .string()
    .refine((part) => part === 'database', 'must name database')
    .optional(),
});
