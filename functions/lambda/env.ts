import * as z from 'zod';
import { ConfigurationError } from './configuration-error.ts';

const whole = (min: number, max: number, fallback: number) =>
  z
    .string()
    .regex(/^\d{1,9}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.number().min(min).max(max))
    .default(fallback);

/** A JSON object of texts, as the stack writes it. What a wrong one holds stays out of the message. */
const namesAndTexts = (example: string) =>
  z.string().transform((text, context) => {
    const { data } = z.record(z.string(), z.string().min(1)).safeParse(jsonOf(text));
    if (data !== undefined) return data;
    context.addIssue({ code: 'custom', message: `must be JSON such as ${example}` });
    return z.NEVER;
  });

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What of it a function does not read is not in its bundle, where making it would cost each cold start. */
const environment = <Shape extends z.ZodRawShape>(shape: () => Shape) => z.object(shape());

/** Where the database is, if the secret does not say it. What stands here wins over the secret. */
export const databasePlace = z.object({
  DATABASE_HOST: z.string().optional(),
  /** Default 5432. */
  DATABASE_PORT: z
    .string()
    .regex(/^\d{1,5}$/, 'must be a port')
    .transform(Number)
    .optional(),
  /** Default `postgres`. */
  DATABASE_NAME: z.string().optional(),
  /** PEM file of the authorities that sign the server's certificate, relative to the bundle. Default: those Node trusts. */
  DATABASE_CA_FILE: z.string().optional(),
});
export type DatabasePlace = z.infer<typeof databasePlace>;

/** How to reach the database. DATABASE_URL wins over DATABASE_SECRET_ARN, and that over DATABASE_USER. */
export const databaseEnv = databasePlace
  .extend({
    DATABASE_URL: z.string().optional(),
    /** ARN of a JSON secret: username, password, and what of host, port, dbname the variables above leave out. */
    DATABASE_SECRET_ARN: z.string().optional(),
    /** A login by IAM: its passwords are tokens signed with the credentials of the function's role. */
    DATABASE_USER: z.string().optional(),
    /** Of the database; Lambda sets it to its own. */
    AWS_REGION: z.string().optional(),
  })
  .refine(
    (env) => env.DATABASE_URL ?? env.DATABASE_SECRET_ARN ?? (env.DATABASE_USER && env.DATABASE_HOST),
    'set DATABASE_URL, or DATABASE_SECRET_ARN, or DATABASE_USER and DATABASE_HOST',
  )
  .refine(
    (env) => env.DATABASE_URL ?? env.DATABASE_SECRET_ARN ?? (!env.DATABASE_USER || env.AWS_REGION),
    'DATABASE_USER needs AWS_REGION, the region of the database',
  );
export type DatabaseEnv = z.infer<typeof databaseEnv>;

export const contractsEnv = /* @__PURE__ */ environment(() => ({
  /** JSON: names of variables that contracts read → ARNs of the secrets that hold their values. Default none. */
  CONTRACT_SECRETS: namesAndTexts('{"JOB_KEYS": "arn:aws:secretsmanager:…"}').optional(),
}));

export const enqueueEnv = /* @__PURE__ */ environment(() => ({
  /** UTF-8 bytes of a payload as compact JSON. Default 256 KiB. */
  PAYLOAD_MAX_BYTES: whole(1, 4_194_304, 262_144),
}));

export const workerEnv = /* @__PURE__ */ environment(() => ({
  /** Queues to serve, with commas between. Default: `default` and those that the contracts name. */
  WORKER_QUEUES: z
    .string()
    .transform((text) => text.split(',').map((name) => name.trim()))
    .optional(),
  /** JSON: names of variables that processors read → ARNs of the secrets that hold their values. Default none. */
  WORKER_SECRETS: namesAndTexts('{"STRIPE_KEY": "arn:aws:secretsmanager:…"}').optional(),
  /** Jobs in flight at once. */
  WORKER_CONCURRENCY: whole(1, 1000, 10),
  /** Connections for `ctx.transaction`. */
  WORKER_TRANSACTIONS: whole(0, 100, 2),
  /** How soon a job is picked up: a worker always asks; one is started for it; or the next tick finds it. */
  WORKER_PICKUP: z.enum(['second', 'instant', 'minute']).default('second'),
}));

export const wakeEnv = /* @__PURE__ */ environment(() => ({
  /** JSON: queues → names of the functions that serve them, `*` for every other queue. Default: workers are not woken. */
  WAKE_FUNCTIONS: namesAndTexts('{"*": "name-of-a-function"}').optional(),
}));

export const metricsEnv = /* @__PURE__ */ environment(() => ({
  /** Value of the dimension that metrics have in CloudWatch, unique in the account. Default: the function's name. */
  JOB_QUEUE: z.string().optional(),
}));

export const reapEnv = /* @__PURE__ */ environment(() => ({
  /** Days that finished jobs and payloads are kept. */
  RETENTION_DAYS: whole(1, 3650, 7),
  /** Days that dead jobs are kept. */
  DEAD_RETENTION_DAYS: whole(1, 3650, 30),
  /** Days that an idempotency key is kept at least; one whose job is still there stays longer. */
  IDEMPOTENCY_RETENTION_DAYS: whole(1, 3650, 1),
}));

/** @throws ConfigurationError that names each variable; values stay out of it, since they may be secrets */
export function readEnv<Schema extends z.ZodType>(
  schema: Schema,
  env: NodeJS.ProcessEnv = process.env,
): z.output<Schema> {
  // An empty variable is one that nobody set: shells and templates cannot always leave it out.
  const set = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const { data, error } = schema.safeParse(set);
  if (error === undefined) return data as z.output<Schema>;
  const problems = error.issues.map(({ path, message }) => [path.join('.'), message].filter(Boolean).join(': '));
  throw new ConfigurationError(`environment: ${problems.join('; ')}`);
}
