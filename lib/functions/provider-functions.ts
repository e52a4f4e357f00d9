import { CfnResource, CustomResourceProviderBase, RemovalPolicy, Stack } from 'aws-cdk-lib';
import * as logs from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';

/**
 * Puts a function that CDK adds to the stack for a custom resource under the rules that our own have: its log ends after a
 * month, and it may write to that log alone. As CDK makes it, the log outlives the stack, and an AWS managed policy allows
 * every log group of the account.
 * @param name that CDK gives the provider; nothing is done without such a one, or if it is not made as it was
 */
export function tameProvider(scope: Construct, name: string): void {
  const provider = Stack.of(scope).node.tryFindChild(`${name}CustomResourceProvider`);
  if (!(provider instanceof CustomResourceProviderBase) || provider.node.tryFindChild('Logs')) return;
  const [handler, role] = ['Handler', 'Role'].map((id) => provider.node.tryFindChild(id));
  if (!(handler instanceof CfnResource && role instanceof CfnResource)) return;

  const { logGroupName, logGroupArn } = new logs.LogGroup(provider, 'Logs', {
    retention: logs.RetentionDays.ONE_MONTH,
    removalPolicy: RemovalPolicy.DESTROY,
  });
  handler.addPropertyOverride('LoggingConfig', { LogGroup: logGroupName });
  role.addPropertyOverride('ManagedPolicyArns', []);
  provider.addToRolePolicy({
    Sid: 'WriteOwnLog',
    Effect: 'Allow',
    Action: ['logs:CreateLogStream', 'logs:PutLogEvents'],
    Resource: logGroupArn,
  });
  // It refers to its role, which is order enough.
  handler.removeResourceDependency(role);
}
