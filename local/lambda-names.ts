import type { Stack } from './template.ts';

/** Whatever a deployed stack would be told of where it is. */
export const REGION = 'us-east-1';
const ACCOUNT = '000000000000';

/** The name that Lambda's API has for a function of a stack here: as in AWS, one that no other stack of the app has. */
export function lambdaName({ name }: Stack, id: string): string {
  return `${name}-${id}`;
}

/** What is known here of that which a stack's template refers to, for `textOf`. */
export function knownIn(stack: Stack): (id: string, attribute: string) => string | undefined {
  const pseudo: Readonly<Record<string, string>> = {
    'AWS::Region': REGION,
    'AWS::AccountId': ACCOUNT,
    'AWS::Partition': 'aws',
    'AWS::URLSuffix': 'amazonaws.com',
    'AWS::StackName': stack.name,
  };
  return (id, attribute) => {
    if (attribute === 'Ref' && Object.hasOwn(pseudo, id)) return pseudo[id];
    if (stack.resources.get(id)?.Type !== 'AWS::Lambda::Function') return undefined;
    if (attribute === 'Ref') return lambdaName(stack, id);
    return attribute === 'Arn' ? `arn:aws:lambda:${REGION}:${ACCOUNT}:function:${lambdaName(stack, id)}` : undefined;
  };
}
