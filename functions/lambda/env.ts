import * as z from 'zod';
import { MillraceError } from '../queue/errors.ts';

/** A setting of the function is missing or is not what it must be. Nothing works until whoever deploys mends it. */
export class ConfigurationError extends MillraceError {
  readonly code = 'configuration';
}

const whole = (min: number, max: number, fallback: number) =>
  z
    .string()
    .regex(/^\d{1,9}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.number().min(min).max(max))
    .default(fallback);

/** Where the database is. DATABASE_URL wins over DATABASE_SECRET_ARN. */
export const databaseEnv = z
  .object({
    /** ARN of a JSON secret: host, port, username, password, dbname. */
    DATABASE_SECRET_ARN: z.string().optional(),
    DATABASE_URL: z.string().optional(),
    /** PEM file of the authorities that sign the server's certificate, relative to the bundle. Default: those Node trusts. */
    DATABASE_CA_FILE: z.string().optional(),
  })
  .refine((env) => env.DATABASE_URL ?? env.DATABASE_SECRET_ARN, 'set DATABASE_URL or DATABASE_SECRET_ARN');
export type DatabaseEnv = z.infer<typeof databaseEnv>;

export const enqueueEnv = z.object({
  /** UTF-8 bytes of a payload as compact JSON. Default 256 KiB. */
  PAYLOAD_MAX_BYTES: whole(1, 4_194_304, 262_144),
});

export const workerEnv = z.object({
  /** Jobs in flight at once. */
  WORKER_CONCURRENCY: whole(1, 1000, 10),
  /** Connections for `ctx.transaction`. */
  WORKER_TRANSACTIONS: whole(0, 100, 2),
  /** Seconds that slot 0 goes on asking for jobs. */
  WORKER_LINGER_SECONDS: whole(0, 840, 60),
});

export const reapEnv = z.object({
  /** Days that finished jobs and payloads are kept. */
  RETENTION_DAYS: whole(1, 3650, 7),
  /** Days that dead jobs are kept. */
  DEAD_RETENTION_DAYS: whole(1, 3650, 30),
  /** Days that an idempotency key is kept at least; one whose job is still there stays longer. */
  IDEMPOTENCY_RETENTION_DAYS: whole(1, 3650, 1),
});

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
