import * as z from 'zod';
import { databasePlace } from '../lambda/env.ts';

export const rotateEnv = databasePlace.extend({
  /** ARN of the one secret that is rotated: JSON with username and password, and with host where DATABASE_HOST is not set. */
  LOGIN_SECRET_ARN: z.string(),
});
export type RotateEnv = z.infer<typeof rotateEnv>;
