import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { REGION } from './lambda-names.ts';
import { secretNames } from './secrets.ts';

/**
 * Where the database is and how to log in there is given here in another way, as is what stands in secrets, and the
 * template's CA belongs to the server that it names. OPEN_ROLE is for the runtime alone to say.
 */
const NOT_OF_THE_TEMPLATE = new Set([
  ...['DATABASE_SECRET_ARN', 'DATABASE_HOST', 'DATABASE_PORT', 'DATABASE_NAME', 'DATABASE_USER', 'DATABASE_CA_FILE'],
  ...['LOGIN_SECRET_ARN', 'IAM_LOGINS', 'TOKENS_SECRET_ARN', 'WORKER_SECRETS', 'CONTRACT_SECRETS', 'OPEN_ROLE'],
]);

/** What must be as the template has it: the shell's is for the shell's own programs, or names functions that are not here. */
const NOT_OF_THE_SHELL = new Set(['NODE_OPTIONS', 'WAKE_FUNCTIONS']);

/** The runtime serves the one API that these are for, and looks at no signature. */
const CREDENTIALS = { AWS_ACCESS_KEY_ID: 'local', AWS_SECRET_ACCESS_KEY: 'local' };

/** What the runtime tells every function beyond the template. */
export interface LocalVariables {
  readonly DATABASE_URL: string;
  /** Where the authorizer finds the tokens. */
  readonly TOKENS_FILE?: string;
  /** Where functions that wake others find Lambda's API; only they get to know. */
  readonly AWS_ENDPOINT_URL_LAMBDA?: string;
  /** The role of everybody who can reach this machine's loopback; absent: only what an authorizer vouches for counts. */
  readonly OPEN_ROLE?: 'operator';
}

/**
 * Environment of a function's sandbox: what Lambda itself sets, the template's variables, and what the runtime says.
 * A variable that the template names takes the value of the shell where that has one, so `LOG_LEVEL=debug npm start`
 * works, and one that a function fills from a secret takes it from there alone; nothing else of the shell gets in, so a
 * function cannot come to rest on it.
 */
export function sandboxEnvironment(
  fn: { name: string; directory: string; memoryMegabytes: number; variables: Readonly<Record<string, unknown>> },
  own: LocalVariables,
  shell: NodeJS.ProcessEnv = process.env,
): Record<string, string> {
  const variables = Object.entries(fn.variables).flatMap(([name, value]) => {
    if (NOT_OF_THE_TEMPLATE.has(name)) return [];
    const given = NOT_OF_THE_SHELL.has(name) ? undefined : shell[name];
    // What is neither text nor given is an intrinsic: only a deployed stack knows its value.
    return given !== undefined ? [[name, given]] : typeof value === 'string' ? [[name, value]] : [];
  });
  const secrets = secretNames(fn.variables).flatMap((name) => (shell[name] ? [[name, shell[name]]] : []));
  const { AWS_ENDPOINT_URL_LAMBDA, ...others } = own;
  return {
    ...lambdaVariables(fn),
    ...Object.fromEntries([...variables, ...secrets]),
    // The terminal shows which jobs completed, which is for debugging where logs are paid for.
    LOG_LEVEL: shell.LOG_LEVEL || 'debug',
    ...(shell.DATABASE_CA_FILE ? { DATABASE_CA_FILE: resolve(shell.DATABASE_CA_FILE) } : {}),
    ...(AWS_ENDPOINT_URL_LAMBDA && fn.variables.WAKE_FUNCTIONS ? { AWS_ENDPOINT_URL_LAMBDA, ...CREDENTIALS } : {}),
    ...others,
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
