import * as lambda from 'aws-cdk-lib/aws-lambda';
import type { JobQueueProps } from './job-queue-props.ts';
import { checkVariables } from './workers/check-variables.ts';

/**
 * Refuses what contradicts itself before anything is made of it. What concerns one part alone is refused there: workers in
 * check-workers.ts, the network and the database beside themselves.
 * @throws Error with one sentence: what was expected, what came, what to do
 */
export function validateProps(props: JobQueueProps): void {
  oneOf('egress', props.egress, ['natInstance', 'natGateway', 'none']);
  oneOf('databaseAuth', props.databaseAuth, ['secret', 'iam']);
  oneOf('pickup', props.pickup, ['second', 'instant', 'minute']);
  oneOf('migrations', props.migrations, ['onDeploy', 'external']);
  if (typeof props.auth === 'string') oneOf('auth', props.auth, ['token', 'iam']);
  apiProps(props);
  architectureProp(props);
  checkVariables(props);
}

function oneOf(prop: string, value: string | undefined, expected: readonly string[]): void {
  if (value === undefined || expected.includes(value)) return;
  const choice = expected.map((one) => `'${one}'`).join(' or ');
  throw new Error(`${prop} must be ${choice}, not ${JSON.stringify(value)}: choose one, or leave it out.`);
}

/** What belongs to the API must not be said where there is none: whoever said it believes that there is one. */
function apiProps({ api = true, auth, advanced = {} }: JobQueueProps): void {
  const given = { auth, 'advanced.throttle': advanced.throttle, 'advanced.maxPayload': advanced.maxPayload };
  const [stray] = Object.entries(given).find(([, value]) => value !== undefined) ?? [];
  if (!api && stray !== undefined) {
    throw new Error(`${stray} is for the API, and api is false: leave ${stray} out, or api.`);
  }
}

function architectureProp({ advanced = {} }: JobQueueProps): void {
  const { architecture = lambda.Architecture.ARM_64 } = advanced;
  const known = [lambda.Architecture.ARM_64, lambda.Architecture.X86_64].map(({ name }) => name);
  if (!known.includes(architecture.name)) {
    throw new Error(`advanced.architecture must be ARM_64 or X86_64, not "${architecture.name}": Lambda has no other.`);
  }
}
