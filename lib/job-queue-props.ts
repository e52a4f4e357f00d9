import type { Duration, Size } from 'aws-cdk-lib';
import type * as ec2 from 'aws-cdk-lib/aws-ec2';
import type * as lambda from 'aws-cdk-lib/aws-lambda';
import type * as logs from 'aws-cdk-lib/aws-logs';
import type * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import type * as sns from 'aws-cdk-lib/aws-sns';
import type { BundlingProps } from './bundles/bundling-props.ts';
import type { JobDatabase } from './database/job-database.ts';

/** How soon a due job is picked up. See {@link JobQueueProps.pickup}. */
export type Pickup = 'second' | 'instant' | 'minute';

/** How functions of a new VPC reach what lies outside it. See {@link JobQueueProps.egress}. */
export type Egress = 'natInstance' | 'natGateway' | 'none';

/** How functions prove to the database who they are. See {@link JobQueueProps.databaseAuth}. */
export type DatabaseAuth = 'secret' | 'iam';

/** Who the HTTPS API lets in. See {@link JobQueueProps.auth}. */
export type Auth = 'token' | 'iam' | JwtAuth;

export interface JobQueueProps {
  /**
   * Path of the module that exports `contracts`, and `schedules` if jobs recur. It is loaded at synth, and goes into the functions
   * that must know the kinds.
   */
  readonly contracts: string;
  /** Path of the module that exports `processors`. It goes into the workers' bundles alone. */
  readonly processors: string;
  /**
   * Folder that these paths are relative to, and whose `node_modules` the bundles take packages from.
   * @default - the folder that `cdk` runs in
   */
  readonly projectRoot?: string;
  /**
   * VPC for the functions that use the database, and for a new database. Nothing is created in it but what they need. Its
   * private subnets must reach Secrets Manager and, with `pickup: 'instant'`, Lambda.
   * @default - a new VPC in two availability zones; none for a database by secret
   */
  readonly vpc?: ec2.IVpc;
  /**
   * How functions of a new VPC reach the internet: `natInstance` (about $7 a month), `natGateway` (about $33), or `none`: no
   * way out but endpoints for the AWS APIs that Millrace itself calls. A given VPC has its own.
   * @default 'natInstance'
   */
  readonly egress?: Egress;
  /** The Postgres that holds the jobs. @default JobDatabase.newInstance() */
  readonly database?: JobDatabase;
  /**
   * How functions log in to the database: with the password of one login, rotated each 30 days, or each with its own IAM
   * token, for the one role that it needs. `iam` needs an RDS instance or an Aurora cluster.
   * @default 'secret'
   */
  readonly databaseAuth?: DatabaseAuth;
  /**
   * How soon a due job is picked up. `second`: a worker is always there and looks about ten times a second. `instant`: the API starts a
   * worker when none is there; jobs put in by SQL, delayed jobs and recurring ones wait for the minute's tick, or for a wake.
   * `minute`: by the tick only. docs/choosing.md has what each costs.
   * @default 'second'
   */
  readonly pickup?: Pickup;
  /**
   * Workers by name, for queues that need memory, time or a fleet of their own. The worker `default` is always there, and
   * serves every queue that no other names.
   * @default - the worker `default` alone
   */
  readonly workers?: Readonly<Record<string, WorkerProps>>;
  /** Whole days for which completed and cancelled jobs are kept, 1 to 3,650. @default Duration.days(7) */
  readonly retention?: Duration;
  /** Whole days for which dead jobs are kept, 1 to 3,650. @default Duration.days(30) */
  readonly deadRetention?: Duration;
  /**
   * Whole days for which idempotency keys are kept at least, 1 to 3,650; they are kept as long as their job as well.
   * @default Duration.days(1)
   */
  readonly idempotencyRetention?: Duration;
  /**
   * Who brings the database to the schema of a release: each deploy before its code takes traffic, or you (`external`), with
   * `npx millrace migrate`. `external` with `databaseAuth: 'secret'` needs a database with a `login`, and with `'iam'` one login
   * for each role, which you make as docs/roles.md has it.
   * @default 'onDeploy'
   */
  readonly migrations?: 'onDeploy' | 'external';
  /** Whether there is an HTTPS API. Without one, jobs come in by SQL and TypeScript. @default true */
  readonly api?: boolean;
  /**
   * Who the API lets in: holders of a bearer token, AWS principals (SigV4), or holders of a JWT. It is never open.
   * @default 'token'
   */
  readonly auth?: Auth;
  /** Receives each alarm, and its end. @default - alarms show in CloudWatch alone */
  readonly alarmTopic?: sns.ITopic;
  /** Environment of the workers, for processors. Not for secrets: it stands in the template. @default - none */
  readonly environment?: Readonly<Record<string, string>>;
  /**
   * Secrets of the workers, for processors, by environment variable: read at run time when a worker starts, and nowhere in
   * the template.
   * @default - none
   */
  readonly secrets?: Readonly<Record<string, secretsmanager.ISecret>>;
  /**
   * Secrets that contracts read, such as the keys of a codec, by environment variable: for the workers, and for the functions
   * of the API that put jobs in and look them up. Read at run time, and nowhere in the template. Contracts are evaluated at
   * synth too, where the variables are not set: read them in a function (`aesGcm(() => process.env.JOB_KEYS)`).
   * @default - none
   */
  readonly contractSecrets?: Readonly<Record<string, secretsmanager.ISecret>>;
  /** What esbuild must know of your modules: native packages, extra files, options. @default - nothing */
  readonly bundling?: BundlingProps;
  /** What few need to change. @default - see each */
  readonly advanced?: AdvancedProps;
}

/** One worker function. */
export interface WorkerProps {
  /**
   * The queues that it alone serves. Required for each worker but `default`.
   * @default - for `default`: every queue that no other worker names
   */
  readonly queues?: readonly string[];
  /** Memory, as Lambda has it; its share of a CPU grows with it. @default Size.mebibytes(256) */
  readonly memory?: Size;
  /**
   * How long one run may take: at least 10 s longer than the longest kind of its queues, at most 15 minutes.
   * @default - a minute, then the longest kind of its queues and 10 s; from 2 to 15 minutes
   */
  readonly timeout?: Duration;
  /** How many jobs it runs at the same time, 1 to 1,000. @default 10 */
  readonly concurrency?: number;
  /** How many of them can be in `ctx.transaction` at the same time, each on a connection of its own; 0 to 100. @default 2 */
  readonly transactions?: number;
  /**
   * Slots, 1 to 100: how many of it start each minute. Those above one stay only if what is due is more than those below are
   * done with in 10 s.
   * @default 1
   */
  readonly max?: number;
}

/** Bearer tokens of an OpenID Connect or OAuth 2 issuer. */
export interface JwtAuth {
  /** URL of the issuer, as in the claim `iss`; API Gateway reads its keys from `<issuer>/.well-known/openid-configuration`. */
  readonly issuer: string;
  /** Values of the claim `aud` that are accepted. */
  readonly audience: readonly string[];
  /**
   * Claim that holds the role or roles: `producer`, `reader`, `operator`; of several the rights add up. It must be one that the
   * issuer alone writes: who can write it gives themselves a role. A text is read word by word, the names of groups too.
   * @default 'millrace_role'
   */
  readonly roleClaim?: string;
}

export interface AdvancedProps {
  /** Subnets of a given VPC for the functions. @default - its private subnets; its isolated ones if it has no others */
  readonly functionSubnets?: ec2.SubnetSelection;
  /** Subnets of a given VPC for a new database. @default - its isolated subnets; its private ones if it has no others */
  readonly databaseSubnets?: ec2.SubnetSelection;
  /** Processor of the functions; native packages must be built for it. @default lambda.Architecture.ARM_64 */
  readonly architecture?: lambda.Architecture;
  /** Largest payload, as JSON, up to 4 MiB. @default Size.kibibytes(256) */
  readonly maxPayload?: Size;
  /** Requests that the API takes. @default - 100 a second, 50 at once */
  readonly throttle?: ThrottleProps;
  /** How long logs are kept. @default logs.RetentionDays.ONE_MONTH */
  readonly logRetention?: logs.RetentionDays;
}

/** What the API takes before it answers 429. */
export interface ThrottleProps {
  /** Requests a second in the long run. @default 100 */
  readonly rateLimit?: number;
  /** Requests at once. @default 50 */
  readonly burstLimit?: number;
}
