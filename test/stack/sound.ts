import type { Template } from 'aws-cdk-lib/assertions';
import { expect } from 'vitest';
import type { Properties } from '../lib/synthesize.ts';

/** Statements that may name every resource, by their Sid; lib/ says why beside each. */
const EVERY_RESOURCE = ['AttachToVpc', 'SendTraces'];

type Resources = Readonly<Record<string, Properties>>;

/** What holds of every stack with a queue in it, whatever its props are. */
export function expectSound(template: Template): void {
  const resources = template.toJSON().Resources as Resources;
  expectOwnFunctionsAlike(resources);
  expectNarrowRights(resources);
  expectNoConfusedDeputy(resources);
  expectClosedPorts(resources);
  expectKeptData(resources);
  expectGuardedRoutes(resources);
  expectTicksWithoutRepeat(resources);
  expectNoSecretInClear(resources);
}

function ofType(resources: Resources, type: string): [id: string, properties: Properties][] {
  return Object.entries(resources)
    .filter(([, { Type }]) => Type === type)
    .map(([id, { Properties }]) => [id, Properties ?? {}]);
}

/** CDK's own functions serve deploys (custom resources) and are the CDK's to shape. */
function ownFunctions(resources: Resources): [id: string, properties: Properties][] {
  return ofType(resources, 'AWS::Lambda::Function').filter(([, { Environment }]) => Environment?.Variables?.LOG_LEVEL);
}

function expectOwnFunctionsAlike(resources: Resources): void {
  const functions = ownFunctions(resources);
  expect(functions.length).toBeGreaterThan(1);
  for (const [id, properties] of functions) {
    expect(properties, id).toMatchObject({
      Runtime: 'nodejs24.x',
      Architectures: ['arm64'],
      Handler: 'index.handler',
      Environment: { Variables: { NODE_OPTIONS: expect.stringContaining('--enable-source-maps') } },
    });
    expect(['Active', 'PassThrough'], id).toContain(properties.TracingConfig?.Mode);
    const group = resources[properties.LoggingConfig?.LogGroup?.Ref];
    expect(group?.Properties.RetentionInDays, id).toBeGreaterThan(0);
  }
}

function expectNarrowRights(resources: Resources): void {
  for (const [id, { PolicyDocument, Policies = [] }] of [
    ...ofType(resources, 'AWS::IAM::Policy'),
    ...ofType(resources, 'AWS::IAM::Role'),
  ]) {
    const documents = [PolicyDocument, ...Policies.map(({ PolicyDocument: inline }: Properties) => inline)];
    for (const { Statement } of documents.filter((document) => document !== undefined)) {
      // What is denied on every resource is narrow enough.
      for (const { Action, Resource, Sid } of Statement.filter(({ Effect }: Properties) => Effect === 'Allow')) {
        const actions: string[] = [Action].flat();
        expect(
          actions.filter((action) => action === '*' || /:\*$/.test(action)),
          `${id} ${Sid}`,
        ).toEqual([]);
        if ([Resource].flat().includes('*') && isOwn(id)) expect(EVERY_RESOURCE, `${id}: ${actions}`).toContain(Sid);
      }
    }
  }
}

/** The roles of CDK's custom resources, one for all stacks of an app, begin so. */
function isOwn(id: string): boolean {
  return !/^(AWSCDK|Custom|LogRetention)/.test(id);
}

/** Their roles are those of functions and instances, which act for nobody else. */
const RUN_CODE = ['lambda.amazonaws.com', 'ec2.amazonaws.com'];

/** A service that acts for many accounts must not be led to act here for another. */
function expectNoConfusedDeputy(resources: Resources): void {
  for (const [id, { AssumeRolePolicyDocument }] of ofType(resources, 'AWS::IAM::Role').filter(([id]) => isOwn(id))) {
    for (const { Principal, Condition } of AssumeRolePolicyDocument.Statement) {
      if (RUN_CODE.includes(Principal.Service)) continue;
      expect(Condition?.StringEquals?.['aws:SourceAccount'], `${id}: ${Principal.Service}`).toBeDefined();
    }
  }
  for (const [id, { SourceArn, SourceAccount }] of ofType(resources, 'AWS::Lambda::Permission')) {
    expect(SourceArn ?? SourceAccount, id).toBeDefined();
  }
}

function expectClosedPorts(resources: Resources): void {
  const rules = [
    ...ofType(resources, 'AWS::EC2::SecurityGroupIngress'),
    ...ofType(resources, 'AWS::EC2::SecurityGroup').flatMap(([id, { SecurityGroupIngress = [] }]) =>
      SecurityGroupIngress.map((rule: Properties): [string, Properties] => [id, rule]),
    ),
  ];
  for (const [id, rule] of rules) {
    expect(rule.CidrIp, id).toBeUndefined();
    expect(rule.CidrIpv6, id).toBeUndefined();
    expect(rule.SourceSecurityGroupId, id).toBeDefined();
  }
}

function expectKeptData(resources: Resources): void {
  for (const [id, properties] of ofType(resources, 'AWS::RDS::DBInstance')) {
    // Those that a test's own stack made are its business.
    if (!id.startsWith('Jobs')) continue;
    expect(properties, id).toMatchObject({
      StorageEncrypted: true,
      DeletionProtection: true,
      PubliclyAccessible: false,
      BackupRetentionPeriod: 7,
      CopyTagsToSnapshot: true,
    });
    expect(resources[id], id).toMatchObject({ DeletionPolicy: 'Snapshot', UpdateReplacePolicy: 'Snapshot' });
  }
  for (const [id, { SqsManagedSseEnabled, KmsMasterKeyId }] of ofType(resources, 'AWS::SQS::Queue')) {
    expect(SqsManagedSseEnabled === true || KmsMasterKeyId !== undefined, id).toBe(true);
  }
}

function expectGuardedRoutes(resources: Resources): void {
  const open = ofType(resources, 'AWS::ApiGatewayV2::Route').filter(
    ([, { AuthorizationType = 'NONE' }]) => AuthorizationType === 'NONE',
  );
  expect(open.map(([, { RouteKey }]) => RouteKey).filter((key) => key !== 'GET /health')).toEqual([]);
}

function expectTicksWithoutRepeat(resources: Resources): void {
  for (const [id, { Target }] of ofType(resources, 'AWS::Scheduler::Schedule')) {
    expect(Target.RetryPolicy, id).toEqual({ MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 60 });
  }
  for (const [id, properties] of ofType(resources, 'AWS::Lambda::EventInvokeConfig')) {
    expect(properties, id).toMatchObject({ MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 60 });
    expect(properties.DestinationConfig?.OnFailure?.Destination, id).toBeDefined();
  }
}

/** The environment of a function can be read by whoever may look at it: a host out of a secret may stand there, a password not. */
function expectNoSecretInClear(resources: Resources): void {
  for (const [id, { Environment }] of ofType(resources, 'AWS::Lambda::Function')) {
    expect(JSON.stringify(Environment ?? {}), id).not.toMatch(/resolve:secretsmanager:[^}]*:password/);
  }
}
