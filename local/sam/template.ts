import { join, relative, sep } from 'node:path';
import * as z from 'zod';
import { rateSeconds } from '../app.ts';
import { secretNames } from '../secrets.ts';
import { StartError } from '../start-error.ts';
import { ofType, pointedTo, type Resource, type Stack } from '../template.ts';

type Variables = Readonly<Record<string, string>>;

/** What of a stack SAM runs: written as a template of its own, since it needs neither the database nor roles nor alarms. */
export interface SamApp {
  readonly template: { readonly Resources: Readonly<Record<string, { readonly Type: string }>> };
  /** Variables of each function by its logical id. SAM passes those that the template declares, and no others. */
  readonly variables: Readonly<Record<string, Variables>>;
  readonly bundles: readonly Bundle[];
  readonly schedules: readonly SamSchedule[];
}

/** The code of a function: its container sees this folder as /var/task. */
export interface Bundle {
  readonly directory: string;
  readonly variables: Variables;
}

export interface SamSchedule {
  /** Logical id of the function. */
  readonly id: string;
  readonly everySeconds: number;
  /** JSON that the function is given. */
  readonly event: string;
}

export interface SamOptions {
  /** Where the template will lie; paths in it are relative to that. */
  readonly directory: string;
  /** Variables of the functions that use the database. */
  readonly database: Variables;
  /** Variables of the one that looks at tokens. */
  readonly authorizer: Variables;
  /** @default - that of this machine */
  readonly architecture?: 'arm64' | 'x86_64';
}

const FunctionProperties = z.looseObject({
  Handler: z.string(),
  Runtime: z.string(),
  Timeout: z.number().default(3),
  MemorySize: z.number().default(128),
  // Those of CDK's own custom resources have none, and nobody calls them here.
  Environment: z.looseObject({ Variables: z.looseObject({ LOG_LEVEL: z.string() }) }),
});

/** Of the gateway, by type: the properties that SAM reads. What it would have to look up in the cloud is left out. */
const GATEWAY: Readonly<Record<string, readonly string[]>> = {
  'AWS::ApiGatewayV2::Api': ['Name', 'ProtocolType'],
  'AWS::ApiGatewayV2::Stage': ['ApiId', 'StageName', 'AutoDeploy'],
  'AWS::ApiGatewayV2::Integration': ['ApiId', 'IntegrationType', 'IntegrationUri', 'PayloadFormatVersion'],
  'AWS::ApiGatewayV2::Route': ['ApiId', 'RouteKey', 'Target', 'AuthorizationType', 'AuthorizerId'],
  'AWS::ApiGatewayV2::Authorizer': [
    ...['ApiId', 'Name', 'AuthorizerType', 'AuthorizerUri', 'AuthorizerPayloadFormatVersion'],
    ...['EnableSimpleResponses', 'IdentitySource'],
  ],
};

/**
 * The template that SAM is given: the one stack with functions, for the processor of this machine.
 * @throws StartError `template_unusable` if there is no function with code
 */
export function samApp(stacks: readonly Stack[], options: SamOptions): SamApp {
  for (const stack of stacks) {
    const functions = functionsOf(stack, options);
    if (functions.length === 0) continue;
    const resources = [
      ...functions.map(({ id, resource }) => [id, resource] as const),
      ...Object.entries(GATEWAY).flatMap(([type, names]) =>
        ofType(stack, type).map(([id, resource]) => [id, { Type: type, Properties: only(resource, names) }] as const),
      ),
    ];
    return {
      template: { Resources: Object.fromEntries(resources) },
      variables: Object.fromEntries(functions.map(({ id, variables }) => [id, variables])),
      bundles: functions,
      schedules: schedulesOf(stack),
    };
  }
  throw new StartError('template_unusable', 'The synthesized stacks have no function with code: nothing to run.');
}

function functionsOf(stack: Stack, options: SamOptions) {
  return ofType(stack, 'AWS::Lambda::Function').flatMap(([id, { Properties, Metadata }]) => {
    const { data } = FunctionProperties.safeParse(Properties);
    const asset = Metadata['aws:asset:path'];
    if (data === undefined || typeof asset !== 'string') return [];
    const { Handler, Runtime, Timeout, MemorySize } = data;
    const directory = join(stack.directory, asset);
    const variables = variablesOf(data.Environment.Variables, options);
    const resource = {
      Type: 'AWS::Lambda::Function',
      Properties: {
        ...{ Handler, Runtime, Timeout, MemorySize },
        Architectures: [options.architecture ?? (process.arch === 'arm64' ? 'arm64' : 'x86_64')],
        Role: 'arn:aws:iam::000000000000:role/local',
        // SAM puts the path of the asset in its place.
        Code: { S3Bucket: 'none', S3Key: 'none' },
        // Their values, a password among them, are in the environment file.
        Environment: { Variables: Object.fromEntries(Object.keys(variables).map((name) => [name, ''])) },
      },
      Metadata: {
        'aws:asset:path': relative(options.directory, directory).split(sep).join('/'),
        'aws:asset:property': 'Code',
        'aws:asset:is-bundled': true,
      },
    };
    return [{ id, directory, variables, resource }];
  });
}

/** The template's values name the database, the secrets and the queues of the cloud: ours come in their place. */
const OF_THE_CLOUD = /^(DATABASE_|TOKENS_|LOGIN_|IAM_LOGINS|WAKE_FUNCTIONS|WORKER_SECRETS|CONTRACT_SECRETS|OPEN_ROLE)/;

function variablesOf(given: Readonly<Record<string, unknown>>, { database, authorizer }: SamOptions): Variables {
  const names = Object.keys(given);
  return {
    ...Object.fromEntries(
      Object.entries(given).filter(
        (entry): entry is [string, string] => typeof entry[1] === 'string' && !OF_THE_CLOUD.test(entry[0]),
      ),
    ),
    ...secretsOf(given),
    ...(names.some((name) => name.startsWith('DATABASE_')) && database),
    ...(names.includes('TOKENS_SECRET_ARN') && authorizer),
  };
}

/** What processors and contracts have from secrets: from the variables of those names in the shell, as under `npm start`. */
function secretsOf(given: Readonly<Record<string, unknown>>): Variables {
  const set = secretNames(given).map((name) => [name, process.env[name]] as const);
  return Object.fromEntries(set.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

function only({ Properties }: Resource, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(Properties).filter(([name]) => names.includes(name)));
}

const Schedule = z.looseObject({
  ScheduleExpression: z.string(),
  State: z.string().optional(),
  Target: z.looseObject({ Arn: z.unknown(), Input: z.string().default('{}') }),
});

function schedulesOf(stack: Stack): SamSchedule[] {
  return ofType(stack, 'AWS::Scheduler::Schedule').flatMap(([, { Properties }]) => {
    const { ScheduleExpression, State, Target } = Schedule.parse(Properties);
    const [id] = pointedTo(stack, Target.Arn, 'AWS::Lambda::Function') ?? [];
    const everySeconds = rateSeconds(ScheduleExpression);
    if (id === undefined || everySeconds === undefined || State === 'DISABLED') return [];
    return [{ id, everySeconds, event: Target.Input }];
  });
}
