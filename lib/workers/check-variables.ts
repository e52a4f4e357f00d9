import { Token } from 'aws-cdk-lib';
import type * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import type { JobQueueProps } from '../job-queue-props.ts';

/** Ours or Lambda's, in the environment of a worker: a processor that set one would change how the worker works. */
const RESERVED =
  /^(AWS_.*|LAMBDA_.*|DATABASE_.*|WORKER_.*|MILLRACE_.*|_.*|WAKE_FUNCTIONS|CONTRACT_SECRETS|JOB_QUEUE|LOG_LEVEL|NODE_OPTIONS|OPEN_ROLE|TOKENS_\w+|LOGIN_SECRET_ARN)$/;
/** As Lambda has it. */
const VARIABLE = /^[A-Za-z]\w+$/;
/** Of Lambda's 4,096 bytes for a function's whole environment, what we leave to the processors' own. */
const ENVIRONMENT_BYTES = 3072;
/** What the ARN of a secret takes whose name CDK makes up. */
const ARN_BYTES = 130;

/**
 * The variables of the workers that processors read.
 * @throws Error that names the one which is not theirs to set, or is no name, or says that there are too many
 */
export function checkVariables({ environment = {}, secrets = {}, contractSecrets = {} }: JobQueueProps): void {
  const all = { environment, secrets, contractSecrets };
  for (const [prop, names] of Object.entries(all)) {
    for (const name of Object.keys(names)) {
      if (!VARIABLE.test(name)) {
        throw new Error(
          `${prop}: a variable must be named with two or more letters, digits and _, a letter first, not "${name}": name it so.`,
        );
      }
      if (RESERVED.test(name)) {
        throw new Error(
          `${prop}: the variable ${name} is for Millrace or Lambda itself to set: give yours another name.`,
        );
      }
    }
  }
  onceOnly(all);
  const own = Object.entries(environment).reduce((sum, [name, value]) => sum + name.length + bytesOf(value), 0);
  const bytes = own + bytesOfSecrets(secrets) + bytesOfSecrets(contractSecrets);
  if (bytes > ENVIRONMENT_BYTES) {
    throw new Error(
      `environment, secrets and contractSecrets must take at most ${ENVIRONMENT_BYTES} bytes, names and values or ARNs, not ${bytes}: Lambda takes 4,096 for all variables of a function, ours among them. Put the rest into a file (bundling.files) or into one secret.`,
    );
  }
}

/** What they take of a function's environment: names and ARNs. */
export function bytesOfSecrets(secrets: Readonly<Record<string, secretsmanager.ISecret>>): number {
  return Object.entries(secrets).reduce((sum, [name, { secretArn }]) => sum + name.length + bytesOf(secretArn), 0);
}

function onceOnly(props: Readonly<Record<string, object>>): void {
  const setBy = new Map<string, string>();
  for (const [prop, names] of Object.entries(props)) {
    for (const name of Object.keys(names)) {
      const other = setBy.get(name);
      if (other !== undefined) {
        throw new Error(`${other} and ${prop} both set the variable ${name}: leave it out of one of them.`);
      }
      setBy.set(name, prop);
    }
  }
}

/** What a deploy puts in place of a reference is not known; it is like an ARN more often than not. */
function bytesOf(value: string): number {
  return Token.isUnresolved(value) ? ARN_BYTES : Buffer.byteLength(value);
}
