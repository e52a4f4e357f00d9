import type { Template } from 'aws-cdk-lib/assertions';
import { expect, test } from 'vitest';
import type { JobQueueFunctions } from '../../lib/index.ts';
import { functionOf, idOf, type Properties, propertiesOf, type Synthesized, synthesize } from './synthesize.ts';

const usual = synthesize();
const outside = synthesize(() => ({ api: false }));
const names = Object.keys(usual.queue.functions) as (keyof JobQueueFunctions)[];

interface Statement {
  readonly Sid?: string;
  readonly Effect: 'Allow' | 'Deny';
  readonly Action: string | string[];
  readonly Resource: unknown;
}

function roleOf(name: keyof JobQueueFunctions, of: Synthesized = usual): string {
  return propertiesOf(of.template, functionOf(of, name)).Role['Fn::GetAtt'][0];
}

/** What a role says itself; grants are in policies beside it. */
function ownStatementsOf(role: string, template: Template): Statement[] {
  const { Policies = [] } = template.toJSON().Resources[role].Properties;
  return Policies.flatMap(({ PolicyDocument }: Properties) => PolicyDocument.Statement);
}

/** The policies beside a function's role, by their logical ids. */
function policiesOf(name: keyof JobQueueFunctions): [id: string, policy: Properties][] {
  return Object.entries(usual.template.findResources('AWS::IAM::Policy')).filter(([, { Properties }]) =>
    Properties.Roles.some(({ Ref }: { Ref: string }) => Ref === roleOf(name)),
  );
}

const isAllowed = ({ Effect }: Statement) => Effect === 'Allow';

/** Every statement of the template, wherever it is. */
function allStatements(template: Template): Statement[] {
  const resources: Properties[] = Object.values(template.toJSON().Resources);
  const documents = resources.flatMap(({ Properties: { PolicyDocument, Policies = [] } = {} }) => [
    ...(PolicyDocument ? [PolicyDocument] : []),
    ...Policies.map((policy: Properties) => policy.PolicyDocument),
  ]);
  return documents.flatMap(({ Statement }) => Statement);
}

test('no role has a policy that AWS manages', () => {
  const roles = Object.values(usual.template.findResources('AWS::IAM::Role'));
  expect(roles.length).toBeGreaterThan(names.length);
  expect(roles.flatMap(({ Properties }) => Properties.ManagedPolicyArns ?? [])).toEqual([]);
});

test('each function has a role of its own', () => {
  expect(new Set(names.map((name) => roleOf(name))).size).toBe(names.length);
});

test.each(names)('%s writes to its own log, and to no other', (name) => {
  const log = propertiesOf(usual.template, functionOf(usual, name)).LoggingConfig.LogGroup.Ref;
  const logging = ownStatementsOf(roleOf(name), usual.template).filter(({ Action }) =>
    JSON.stringify(Action).includes('logs:'),
  );
  expect(logging).toEqual([
    {
      Sid: 'WriteOwnLog',
      Effect: 'Allow',
      Action: ['logs:CreateLogStream', 'logs:PutLogEvents'],
      Resource: { 'Fn::GetAtt': [log, 'Arn'] },
    },
  ]);
});

test.each(names)('%s may trace if it begins traces, and make network interfaces if it is in the VPC', (name) => {
  const { TracingConfig, VpcConfig } = propertiesOf(usual.template, functionOf(usual, name));
  const sids = ownStatementsOf(roleOf(name), usual.template).map(({ Sid }) => Sid);
  expect(sids.includes('SendTraces')).toBe(TracingConfig.Mode === 'Active');
  expect(sids.includes('AttachToVpc')).toBe(VpcConfig !== undefined);
});

test.each(names)('%s has no use of its own for the rights by which Lambda attaches it to the VPC', (name) => {
  const attaching = ownStatementsOf(roleOf(name), usual.template).find(({ Sid }) => Sid === 'AttachToVpc');
  const arn = { 'Fn::GetAtt': [idOf(functionOf(usual, name)), 'Arn'] };
  const denied = policiesOf(name)
    .flatMap(([, { Properties }]) => Properties.PolicyDocument.Statement)
    .filter(({ Effect }) => Effect === 'Deny');
  expect(denied).toEqual(
    attaching === undefined
      ? []
      : [
          {
            ...attaching,
            Sid: 'LeaveNetworkToLambda',
            Effect: 'Deny',
            Condition: { ArnEquals: { 'lambda:SourceFunctionArn': arn } },
          },
        ],
  );
});

test.each([
  ['second', usual],
  ['no API', outside],
  ['iam', synthesize(() => ({ databaseAuth: 'iam', pickup: 'instant' }))],
])('nothing is allowed on everything but what has no name, and no action has a star: %s', (_, { template }) => {
  const allowed = allStatements(template).filter((statement) => isAllowed(statement) && !('Principal' in statement));
  const starred = allowed.filter(({ Resource }) => [Resource].flat().includes('*'));
  expect(starred.length).toBeGreaterThan(0);
  expect(starred.filter(({ Sid = '' }) => !['SendTraces', 'AttachToVpc'].includes(Sid))).toEqual([]);
  expect(allowed.flatMap(({ Action }) => Action).filter((action) => action.includes('*'))).toEqual([]);
});

test.each(names)('%s is there once its rights are', (name) => {
  const fn: Properties = usual.template.toJSON().Resources[idOf(functionOf(usual, name))];
  // The policy that names the function comes after it, and takes away only what its code must not do.
  const policies = policiesOf(name)
    .filter(([, { Properties }]) => Properties.PolicyDocument.Statement.some(isAllowed))
    .map(([id]) => id);
  expect(fn.DependsOn ?? []).toEqual(expect.arrayContaining(policies));
  // The reference to its role says the rest; cfn-lint finds it said twice.
  expect(fn.DependsOn ?? []).not.toContain(roleOf(name));
});
