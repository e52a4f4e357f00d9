import { tmpdir } from 'node:os';
import { resolve } from 'node:path';

const REGION = 'us-east-1';

/**
 * What stands in the secrets is given here in another way, and the template's CA belongs to the server that its secret
 * names. OPEN_ROLE is for the runtime alone to say.
 */
const NOT_OF_THE_TEMPLATE = ['DATABASE_SECRET_ARN', 'DATABASE_CA_FILE', 'TOKENS_SECRET_ARN', 'OPEN_ROLE'];

/** What the runtime tells every function beyond the template. */
export interface LocalVariables {
  readonly DATABASE_URL: string;
  /** Where the authorizer finds the tokens. */
  readonly TOKENS_FILE?: string;
  /** The role of everybody who can reach this machine's loopback; absent: only what an authorizer vouches for counts. */
  readonly OPEN_ROLE?: 'operator';
}

/**
 * Environment of a function's sandbox: what Lambda itself sets, the template's variables, and what the runtime says.
 * A variable that the template names takes the value of the shell where that has one, so `LOG_LEVEL=debug npm start`
 * works; nothing else of the shell gets in, so a function cannot come to rest on it.
 */
export function sandboxEnvironment(
  fn: { name: string; directory: string; memoryMegabytes: number; variables: Readonly<Record<string, unknown>> },
  own: LocalVariables,
  shell: NodeJS.ProcessEnv = process.env,
): Record<string, string> {
  const variables = Object.entries(fn.variables).flatMap(([name, value]) => {
    if (NOT_OF_THE_TEMPLATE.includes(name)) return [];
    const given = name === 'NODE_OPTIONS' ? undefined : shell[name];
    // What is neither text nor given is an intrinsic: only a deployed stack knows its value.
    return given !== undefined ? [[name, given]] : typeof value === 'string' ? [[name, value]] : [];
  });
  return {
    ...lambdaVariables(fn),
    ...Object.fromEntries(variables),
    // The terminal shows which jobs completed, which is for debugging where logs are paid for.
    LOG_LEVEL: shell.LOG_LEVEL || 'debug',
    ...(shell.DATABASE_CA_FILE ? { DATABASE_CA_FILE: resolve(shell.DATABASE_CA_FILE) } : {}),
    ...own,
  };
}

function lambdaVariables(fn: { name: string; directory: string; memoryMegabytes: number }): Record<string, string> {
  const { PATH = '', HOME = tmpdir() } = process.env;
  return {
    AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x',
    AWS_REGION: REGION,
    AWS_DEFAULT_REGION: REGION,
    AWS_LAMBDA_FUNCTION_NAME: fn.name,
    AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
    AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(fn.memoryMegabytes),
    AWS_LAMBDA_LOG_GROUP_NAME: `/aws/lambda/${fn.name}`,
    AWS_LAMBDA_LOG_STREAM_NAME: 'local',
    LAMBDA_TASK_ROOT: fn.directory,
    TZ: 'UTC',
    LANG: 'en_US.UTF-8',
    PATH,
    HOME,
  };
}
