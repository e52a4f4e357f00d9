import { Stack } from 'aws-cdk-lib';
import type * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import type { Construct } from 'constructs';

/**
 * A variable that says in JSON which secrets a function reads for which others, ARNs and no values; none if there are none.
 * ARNs are known when the stack is deployed, so it is text with references in it.
 */
export function secretsVariable(
  scope: Construct,
  name: 'WORKER_SECRETS' | 'CONTRACT_SECRETS',
  secrets: Readonly<Record<string, secretsmanager.ISecret>>,
): Record<string, string> {
  const arns = Object.entries(secrets).map(([variable, { secretArn }]) => [variable, secretArn]);
  return arns.length === 0 ? {} : { [name]: Stack.of(scope).toJsonString(Object.fromEntries(arns)) };
}
