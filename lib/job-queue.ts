import type { Duration, Size } from 'aws-cdk-lib';
import type * as ec2 from 'aws-cdk-lib/aws-ec2';
import type * as rds from 'aws-cdk-lib/aws-rds';
import type * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';
import type { Contracts } from '../functions/queue/contract.ts';
import { Api } from './api.ts';
import { Database } from './database.ts';
import { createFunctions, type JobQueueFunctions } from './functions.ts';
import { migrateOnDeploy } from './migration.ts';
import { Network } from './network.ts';
import { eachMinute } from './schedules.ts';
import { tokensSecret } from './tokens.ts';

export interface JobQueueProps {
  /** The kinds of jobs: read at synth, for their timeouts. */
  readonly contracts: Contracts;
  /** Path of the module that exports `contracts`. It goes into the bundle of every function that must know the kinds. */
  readonly contractsEntry: string;
  /** Path of the module that exports `processors`. It goes into the worker's bundle alone. */
  readonly processorsEntry: string;
  /**
   * VPC for the database and the functions that use it. Its private subnets must reach Secrets Manager.
   * @default - a new one: two availability zones, no way to the internet, an endpoint for Secrets Manager
   */
  readonly vpc?: ec2.IVpc;
  /**
   * Path of a PEM file with the certificates that vouch for the database's server.
   * @default - those of RDS in the stack's region; regions that opened after 2024 are not among them
   */
  readonly databaseCa?: string;
  /**
   * How long one run of a worker may take: at least 10 s longer than the longest kind, at most 15 minutes.
   * @default - a minute of lingering, then the longest kind and 10 s; from 2 to 15 minutes
   */
  readonly workerTimeout?: Duration;
  /** Memory of a worker, as Lambda has it; its share of a CPU grows with it. @default Size.mebibytes(512) */
  readonly workerMemory?: Size;
  /** How many jobs one worker runs at the same time, 1 to 1,000. @default 10 */
  readonly workerConcurrency?: number;
  /** How many of them can be in `ctx.transaction` at the same time, each on a connection of its own; 0 to 100. @default 2 */
  readonly workerTransactions?: number;
  /** Largest payload, as JSON, up to 4 MiB. @default Size.kibibytes(256) */
  readonly maxPayload?: Size;
  /** Whole days for which completed and cancelled jobs are kept, 1 to 3,650. @default Duration.days(7) */
  readonly retention?: Duration;
  /** Whole days for which dead jobs are kept, 1 to 3,650. @default Duration.days(30) */
  readonly deadRetention?: Duration;
  /**
   * Whole days for which idempotency keys are kept at least, 1 to 3,650; they are kept as long as their job as well.
   * @default Duration.days(1)
   */
  readonly idempotencyRetention?: Duration;
}

/** A job queue: an HTTPS API, workers that start each minute, a reaper, and the Postgres that holds the jobs. */
export class JobQueue extends Construct {
  /** Base URL of the API, without a slash at its end. */
  readonly apiUrl: string;
  readonly database: rds.DatabaseInstance;
  readonly vpc: ec2.IVpc;
  readonly functions: JobQueueFunctions;
  /**
   * The tokens that open the API: JSON as `npm run token` writes it, hashes only. It begins with none. Who may write it can
   * give themselves every role.
   */
  readonly tokens: secretsmanager.ISecret;

  constructor(scope: Construct, id: string, props: JobQueueProps) {
    super(scope, id);
    const network = new Network(this, 'Network', props);
    const database = new Database(this, 'Database', {
      vpc: network.vpc,
      subnets: network.databaseSubnets,
      clients: network.functionSecurityGroup,
    });
    const tokens = tokensSecret(this, 'Tokens');
    const functions = createFunctions(this, props, {
      database: { network, secret: database.secret, ca: props.databaseCa },
      tokens,
    });
    const { migrate, ...others } = functions;
    migrateOnDeploy(this, 'Migration', { migrate, after: [network, database], before: Object.values(others) });
    eachMinute(this, 'WorkSchedule', functions.work, { slot: 0 });
    eachMinute(this, 'ReapSchedule', functions.reap, {});

    this.apiUrl = new Api(this, 'Api', functions).http.apiEndpoint;
    this.database = database.instance;
    this.vpc = network.vpc;
    this.functions = functions;
    this.tokens = tokens;
  }
}
