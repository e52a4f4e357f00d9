import * as z from 'zod';

/** Which logins a deploy makes after the migrations. Default: none, somebody else does. */
export const loginsEnv = z.object({
  /** ARN of a JSON secret with username and password: the login of all functions, a member of every role of the queue. */
  LOGIN_SECRET_ARN: z.string().optional(),
  /** `true`: makes a login by IAM for each role of the queue. */
  IAM_LOGINS: z.enum(['true', 'false']).optional(),
});
