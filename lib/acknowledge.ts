import { Validations } from 'aws-cdk-lib';
import type { IConstruct } from 'constructs';

/**
 * Says, for a construct and all in it, why a rule of cdk-nag does not hold there. It is said where the construct is made, so
 * that an app which uses it and runs cdk-nag sees no finding either.
 * @param rules reasons that a reviewer can accept, by the rule's id: `AwsSolutions-RDS3`, or one finding of a rule:
 *   `AwsSolutions-IAM5[Resource::*]`
 */
export function acknowledge(construct: IConstruct, rules: Readonly<Record<string, string>>): void {
  const acknowledgements = Object.entries(rules).map(([id, reason]) => ({ id, reason }));
  Validations.of(construct).acknowledge(...acknowledgements);
}
