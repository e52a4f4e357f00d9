import { NestedStack, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { expect, test } from 'vitest';
import { JobQueue } from '../../lib/index.ts';
import { functionOf, idOf, inApp, only, SAMPLE, synthesize } from './synthesize.ts';

const usual = synthesize();
const { queue, template } = usual;
const [migration = ''] = Object.keys(template.findResources('Custom::Trigger'));
const login = queue.loginSecret && idOf(queue.loginSecret);
const rotate = idOf(functionOf(usual, 'rotate'));

test('the login has a name and a password of its own, which no deploy makes anew', () => {
  const { GenerateSecretString } = template.toJSON().Resources[login ?? ''].Properties;
  expect(GenerateSecretString).toEqual({
    // Another text here would be another password for everyone who deployed it before.
    SecretStringTemplate: '{"username":"millrace_app_19bdbca7"}',
    GenerateStringKey: 'password',
    PasswordLength: 48,
    ExcludePunctuation: true,
  });
});

test('its password lives for 30 days, and not less for the first one', () => {
  const schedule = only(template, 'AWS::SecretsManager::RotationSchedule');
  expect(schedule).toEqual({
    SecretId: { Ref: login },
    RotationLambdaARN: { 'Fn::GetAtt': [rotate, 'Arn'] },
    RotationRules: { AutomaticallyAfterDays: 30 },
    RotateImmediatelyOnUpdate: false,
  });
});

test('it is changed only once the migration has made its user, by whom Secrets Manager may call', () => {
  const [schedule] = Object.values(template.findResources('AWS::SecretsManager::RotationSchedule'));
  const permissions = template.findResources('AWS::Lambda::Permission', {
    Properties: { FunctionName: { 'Fn::GetAtt': [rotate, 'Arn'] } },
  });
  const [[id, permission] = [], ...others] = Object.entries(permissions);
  expect(others).toEqual([]);
  expect(permission?.Properties).toMatchObject({
    Principal: 'secretsmanager.amazonaws.com',
    SourceAccount: { Ref: 'AWS::AccountId' },
  });
  expect(schedule?.DependsOn).toEqual(expect.arrayContaining([id, migration]));
});

test('the rotation may change that secret, and no other', () => {
  const role = template.toJSON().Resources[rotate].Properties.Role['Fn::GetAtt'][0];
  const statements = Object.values(template.findResources('AWS::IAM::Policy'))
    .filter(({ Properties }) => Properties.Roles.some(({ Ref }: { Ref: string }) => Ref === role))
    .flatMap(({ Properties }) => Properties.PolicyDocument.Statement)
    .filter(({ Effect }) => Effect === 'Allow');
  expect(statements.flatMap(({ Action }) => Action).toSorted()).toEqual([
    'secretsmanager:DescribeSecret',
    'secretsmanager:GetSecretValue',
    'secretsmanager:ListSecretVersionIds',
    'secretsmanager:PutSecretValue',
    'secretsmanager:UpdateSecretVersionStage',
  ]);
  expect(statements.map(({ Resource }) => Resource)).toEqual(statements.map(() => ({ Ref: login })));
});

/** Names of the logins that a stack's queues have. */
function loginsIn(stack: Stack): string[] {
  const secrets = Object.values(Template.fromStack(stack).findResources('AWS::SecretsManager::Secret'));
  return secrets.map(({ Properties }) => JSON.parse(Properties.GenerateSecretString.SecretStringTemplate).username);
}

const NAMED = expect.stringMatching(/^millrace_app_[0-9a-f]{8}$/);

test('two queues have logins of different names, since they may share a server', () => {
  inApp({}, (app) => {
    const stack = new Stack(app, 'Millrace');
    for (const id of ['Jobs', 'Others']) new JobQueue(stack, id, { ...SAMPLE, api: false });
    const names = loginsIn(stack);
    expect(names).toEqual([NAMED, NAMED]);
    expect(new Set(names).size).toBe(2);
  });
});

test('so have two deployments of one app, which differ in nothing but the name of their stack', () => {
  const names = ['jobs-ada', 'jobs-grace'].flatMap((stackName) =>
    inApp({}, (app) => {
      const stack = new Stack(app, 'Millrace', { stackName });
      new JobQueue(stack, 'Jobs', { ...SAMPLE, api: false });
      return loginsIn(stack);
    }),
  );
  expect(names).toEqual([NAMED, NAMED]);
  expect(new Set(names).size).toBe(2);
});

test('a queue in a nested stack, whose name only the deploy knows, has one too', () => {
  inApp({}, (app) => {
    const nested = new NestedStack(new Stack(app, 'Millrace'), 'Nested');
    new JobQueue(nested, 'Jobs', { ...SAMPLE, api: false });
    expect(loginsIn(nested)).toEqual([NAMED]);
  });
});
