import type * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import type * as ec2 from 'aws-cdk-lib/aws-ec2';
import type * as iam from 'aws-cdk-lib/aws-iam';
import type * as lambda from 'aws-cdk-lib/aws-lambda';
import type * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import type * as sqs from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import { Api } from './api/api.ts';
import { tokensSecret } from './api/tokens.ts';
import { readContracts } from './bundles/contracts.ts';
import { modulesOf } from './bundles/modules.ts';
import { connectionEstimate, warnOfConnections } from './database/connection-estimate.ts';
import { DatabaseRoles } from './database/database-access.ts';
import { JobDatabase } from './database/job-database.ts';
import { migrateOnDeploy } from './database/migration.ts';
import { createFunctions, type JobQueueFunctions } from './functions/functions.ts';
import type { Auth, JobQueueProps } from './job-queue-props.ts';
import { Network } from './network/network.ts';
import { validateProps } from './validate-props.ts';
import { Alarms } from './watch/alarms.ts';
import { Dashboard } from './watch/dashboard.ts';
import { MeasuredConstruct } from './watch/measured-construct.ts';
import { DEFAULT_WORKER, warnOfUnknownQueues } from './workers/check-workers.ts';
import { failedTicks } from './workers/failed-ticks.ts';
import { Schedules } from './workers/schedules.ts';
import { planWorkers } from './workers/worker-plan.ts';
import { grantWake, scheduleWorkers, type Workers, wakeFunctions } from './workers/workers.ts';

/** A job queue: an HTTPS API, workers that start each minute, a reaper, and the Postgres that holds the jobs. */
export class JobQueue extends MeasuredConstruct implements ec2.IConnectable {
  /** Base URL of the API, without a slash at its end. Undefined with `api: false`. */
  readonly apiUrl: string | undefined;
  /** Where the functions that use the database are. Undefined for a database by secret to which no VPC was given. */
  readonly vpc: ec2.IVpc | undefined;
  /** Name or address of the database's server. Undefined if nothing but its secret says it. */
  readonly databaseHost: string | undefined;
  /** The functions, by what they do; other workers than `default` by {@link workerFunction}. */
  readonly functions: JobQueueFunctions;
  /**
   * The tokens that open the API: JSON as `npx millrace token` writes it, hashes only. It begins with none. Who may write it
   * can give themselves every role. Undefined unless `auth` is 'token'.
   */
  readonly tokens: secretsmanager.ISecret | undefined;
  /** The login of the functions: JSON. Undefined with `databaseAuth: 'iam'`. */
  readonly loginSecret: secretsmanager.ISecret | undefined;
  /** The login that migrates: JSON. Undefined if there is none to be had, as with `migrations: 'external'`. */
  readonly adminSecret: secretsmanager.ISecret | undefined;
  /** Ticks and wakes that failed, for 14 days. */
  readonly failedTicks: sqs.IQueue;
  readonly alarms: readonly cloudwatch.Alarm[];
  readonly dashboard: cloudwatch.Dashboard;
  /** How many connections the functions may open at once, spelled out, and how many the database takes. */
  readonly connectionEstimate: string;

  readonly #api: Api | undefined;
  readonly #auth: Auth;
  readonly #network: Network;
  readonly #workers: Workers;

  /** @throws Error with a sentence that says which props do not go together, or what is out of bounds */
  constructor(scope: Construct, id: string, props: JobQueueProps) {
    super(scope, id);
    validateProps(props);
    const modules = modulesOf(props);
    const { api = true, auth = 'token', pickup = 'second', migrations = 'onDeploy', databaseAuth = 'secret' } = props;
    const { database = JobDatabase.newInstance(), workers: wanted = {}, advanced = {} } = props;
    const contracts = readContracts(modules.contracts);
    // For whoever reads the assembly: `npx millrace dev`.
    this.node.addMetadata('millrace:queue', { kinds: Object.keys(contracts) });
    const plans = planWorkers(wanted, contracts, pickup);
    warnOfUnknownQueues(this, wanted, contracts);

    const network = new Network(this, 'Network', { ...props, ...advanced, pickup, database });
    const context = { network, auth: databaseAuth, migrations };
    const bound = database.bind(this, 'Database', context);
    const roles = new DatabaseRoles(this, { ...context, database: bound });
    const tokens = api && auth === 'token' ? tokensSecret(this, 'Tokens') : undefined;
    const { metrics, metricsName } = this;
    const made = createFunctions(this, props, { modules, roles, plans, tokens, metricsName });
    const { migrate, rotate, reap } = made.functions;
    const before = made.all.filter((fn) => fn !== migrate);
    const migration =
      migrate && migrateOnDeploy(this, 'Migration', { migrate, after: [network, ...bound.resources], before });
    if (rotate && migration) roles.login?.rotateWith(rotate, migration);

    // Queue is an IQueue in all but exactOptionalPropertyTypes, which CDK's types do not know.
    const failed = failedTicks(this, 'FailedTicks') as unknown as sqs.IQueue;
    const schedules = new Schedules(this, 'Schedules', { failed });
    scheduleWorkers(this, schedules, made.workers);
    schedules.target(reap);
    schedules.eachMinute(this, 'ReapSchedule', reap, {});

    this.#api =
      made.api &&
      new Api(this, 'Api', {
        functions: made.api,
        authorize: made.api.authorize as lambda.IFunction | undefined,
        auth,
        ...advanced,
      });
    const watched = { metrics, failedTicks: failed, http: this.#api?.http, database: bound.monitored };
    const { alarms } = new Alarms(this, 'Alarms', { ...watched, topic: props.alarmTopic });
    const workers = made.workers.map(({ fn }) => fn);
    const others = made.all.filter((fn) => ![migrate, rotate, ...workers].includes(fn));
    this.dashboard = new Dashboard(this, 'Dashboard', { ...watched, alarms, workers, others }).dashboard;

    const estimate = connectionEstimate({
      apiBurst: api ? (advanced.throttle?.burstLimit ?? 50) : undefined,
      wakes: pickup === 'instant',
      workers: plans.map((plan) => ({ ...plan, timeoutSeconds: plan.timeout.toSeconds() })),
      migrates: migrate !== undefined,
      rotates: rotate !== undefined,
      maxConnections: bound.maxConnections,
    });
    warnOfConnections(this, estimate);

    this.apiUrl = this.#api?.http.apiEndpoint;
    this.vpc = network.vpc;
    this.databaseHost = bound.endpoint.host;
    this.functions = made.functions;
    this.tokens = tokens;
    this.loginSecret = bound.login ?? roles.login?.secret;
    this.adminSecret = bound.adminSecret;
    this.failedTicks = failed;
    this.alarms = alarms;
    this.connectionEstimate = estimate.sentence;
    this.#auth = auth;
    this.#network = network;
    this.#workers = made.workers;
  }

  /** The security group that all functions share: `database.connections.allowDefaultPortFrom(queue)`. */
  get connections(): ec2.Connections {
    const { functionSecurityGroup } = this.#network;
    if (functionSecurityGroup) return functionSecurityGroup.connections;
    throw new Error(
      'connections must be of functions in a VPC, and this queue has none, since its database was given by secret: give the prop vpc.',
    );
  }

  /**
   * The function of a worker, for grants: `bucket.grantRead(queue.workerFunction())`.
   * @param name - @default 'default'
   * @throws Error that lists the workers there are
   */
  workerFunction(name = DEFAULT_WORKER): lambda.Function {
    const found = this.#workers.find(({ plan }) => plan.name === name);
    if (found) return found.fn;
    const names = this.#workers.map(({ plan }) => `"${plan.name}"`).join(', ');
    throw new Error(
      `workerFunction needs the name of a worker (${names}), not "${name}": choose one, or add it to workers.`,
    );
  }

  /**
   * Lets an AWS principal enqueue jobs over the API and look one up, its payload and result included; nothing else.
   * @throws Error that says what to do instead, unless `auth` is 'iam'
   */
  grantEnqueue(grantee: iam.IGrantable): iam.Grant {
    if (this.#api && this.#auth === 'iam') return this.#api.grantEnqueue(grantee);
    throw new Error(
      `grantEnqueue needs an API with auth 'iam', and this queue has ${insteadOf(this.#api && this.#auth)}`,
    );
  }

  /**
   * Lets an AWS principal start the workers, for jobs put in by SQL or by `enqueue` with `pickup` 'instant' or 'minute': with
   * `wake` of `millrace/wake` after the commit, or without it as docs/enqueue.md says. See {@link wakeFunctions}.
   */
  grantWake(grantee: iam.IGrantable): iam.Grant {
    return grantWake(this.#workers, grantee);
  }

  /**
   * The variable WAKE_FUNCTIONS for a function that wakes workers: which to start for which queue.
   * `caller.addEnvironment('WAKE_FUNCTIONS', queue.wakeFunctions)`
   * @throws Error if the workers have more queues than the environment of a function has room for
   */
  get wakeFunctions(): string {
    return wakeFunctions(this, this.#workers, 0);
  }
}

/** What a queue without `auth: 'iam'` has, and how somebody may enqueue there. */
function insteadOf(auth: Auth | undefined): string {
  if (auth === undefined) return 'no API: enqueue by SQL or TypeScript, with a login of the role millrace_producer.';
  if (typeof auth === 'object') {
    return `JWTs: have ${auth.issuer} give the caller the role producer, or set auth to 'iam'.`;
  }
  return `auth 'token': give the caller a token of the role producer (npx millrace token create), or set auth to 'iam'.`;
}
