import { Duration } from 'aws-cdk-lib';
import * as ec2 from 'aws-cdk-lib/aws-ec2';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import * as sns from 'aws-cdk-lib/aws-sns';
import { describe, expect, test } from 'vitest';
import { JobDatabase, type JobQueue, type JobQueueProps } from '../../lib/index.ts';
import { PUBLISHED_METRICS, type PublishedMetric } from '../../lib/watch/metrics.ts';
import { idOf, only, propertiesOf, synthesize } from './synthesize.ts';

const secret = 'arn:aws:secretsmanager:eu-central-1:111122223333:secret:neon-AbCdEf';

test('what is published has a method, and each is of this queue', () => {
  const { queue } = synthesize();
  expect(queue.metricsName).toMatch(/^MillraceJobs/);
  const names = Object.keys(PUBLISHED_METRICS) as PublishedMetric[];
  for (const name of names) {
    const metric = queue[`metric${name}`]({ label: 'Mine' });
    expect(metric).toMatchObject({
      namespace: 'Millrace',
      metricName: name,
      dimensions: { JobQueue: queue.metricsName },
      statistic: PUBLISHED_METRICS[name].statistic,
      label: 'Mine',
    });
  }
});

test('what measures knows the name that the metrics have', () => {
  const { queue, template } = synthesize();
  for (const fn of [queue.functions.work, queue.functions.reap]) {
    expect(propertiesOf(template, fn).Environment.Variables.JOB_QUEUE).toBe(queue.metricsName);
  }
});

describe('grantEnqueue', () => {
  const grant = (queue: JobQueue) =>
    queue.grantEnqueue(new iam.Role(queue, 'Caller', { assumedBy: new iam.AccountRootPrincipal() }));

  test('allows three routes of the API, with IAM at its door', () => {
    const { template } = synthesize(() => ({ auth: 'iam' }), grant);
    const policies = Object.values(template.findResources('AWS::IAM::Policy'));
    const [policy] = policies.filter(({ Properties }) => JSON.stringify(Properties).includes('execute-api:Invoke'));
    const [{ Action, Resource }] = policy?.Properties.PolicyDocument.Statement ?? [];
    const paths = Resource.map((arn: { 'Fn::Join': [string, unknown[]] }) => arn['Fn::Join'][1].at(-1));
    expect(Action).toBe('execute-api:Invoke');
    expect(paths.toSorted()).toEqual(['/$default/GET/jobs/*', '/$default/POST/jobs', '/$default/POST/jobs/batch']);
  });

  test.each<[string, Partial<JobQueueProps>, RegExp]>([
    [
      'tokens',
      {},
      /needs an API with auth 'iam', and this queue has auth 'token': give the caller a token of the role producer/,
    ],
    [
      'JWTs',
      { auth: { issuer: 'https://login.example.com', audience: ['jobs'] } },
      /and this queue has JWTs: have https:\/\/login\.example\.com give the caller the role producer/,
    ],
    ['no API', { api: false }, /and this queue has no API: enqueue by SQL or TypeScript/],
  ])('with %s says what to do instead', (_, props, sentence) => {
    const { queue } = synthesize(() => props);
    expect(() => grant(queue)).toThrow(sentence);
  });
});

test('a worker that is not there is asked for by name', () => {
  const { queue } = synthesize(() => ({ workers: { reports: { queues: ['reports'] } } }));
  expect(() => queue.workerFunction('report')).toThrow(
    'workerFunction needs the name of a worker ("default", "reports"), not "report": choose one, or add it to workers.',
  );
});

test('its connections are those of its functions', () => {
  const { queue, template } = synthesize(
    () => ({}),
    (own, stack) => {
      if (own.vpc === undefined) throw new Error('a new database is in a VPC');
      const cache = new ec2.SecurityGroup(stack, 'Cache', { vpc: own.vpc });
      cache.connections.allowFrom(own, ec2.Port.tcp(6379));
    },
  );
  const [shared] = queue.connections.securityGroups;
  const { SourceSecurityGroupId } = only(template, 'AWS::EC2::SecurityGroupIngress', { ToPort: 6379 });
  expect(SourceSecurityGroupId).toEqual({ 'Fn::GetAtt': [shared && idOf(shared), 'GroupId'] });
});

describe('on a database by secret, without a VPC', () => {
  const { queue, template } = synthesize((stack) => ({
    database: JobDatabase.fromSecret({
      adminSecret: secretsmanager.Secret.fromSecretCompleteArn(stack, 'Neon', secret),
    }),
  }));

  test('nothing is in a VPC', () => {
    expect(queue.vpc).toBeUndefined();
    expect(template.findResources('AWS::Lambda::Function', { Properties: { VpcConfig: {} } })).toEqual({});
    template.resourceCountIs('AWS::EC2::VPC', 0);
    template.resourceCountIs('AWS::RDS::DBInstance', 0);
  });

  test('it has no connections, and says why', () => {
    expect(() => queue.connections).toThrow(
      /this queue has none, since its database was given by secret: give the prop vpc/,
    );
  });
});

test('each alarm, and its end, goes to the given topic', () => {
  const { queue, template } = synthesize((stack) => ({
    alarmTopic: new sns.Topic(stack, 'Topic') as unknown as sns.ITopic,
  }));
  const alarms = Object.values(template.findResources('AWS::CloudWatch::Alarm'));
  expect(alarms).toHaveLength(queue.alarms.length);
  for (const { Properties } of alarms) {
    expect(Properties.AlarmActions).toEqual([{ Ref: expect.stringMatching(/^Topic/) }]);
    expect(Properties.OKActions).toEqual(Properties.AlarmActions);
  }
});

test('with migrations of your own no function reads the login that migrates', () => {
  const { queue, template } = synthesize(() => ({ migrations: 'external', databaseAuth: 'iam' }));
  expect(queue.adminSecret).toBeUndefined();
  expect(queue.loginSecret).toBeUndefined();
  template.resourceCountIs('Custom::Trigger', 0);
  expect(JSON.stringify(template.findResources('AWS::IAM::Policy'))).not.toContain('MasterUserSecret');
});

test.each<[string, Partial<JobQueueProps>, RegExp]>([
  [
    'IAM at a database by secret',
    { databaseAuth: 'iam', database: JobDatabase.fromSecret({}) },
    /^databaseAuth 'iam' needs an RDS/,
  ],
  ['migrations of your own without a login', { migrations: 'external' }, /^The login of the database is missing/],
  [
    'a way out for functions in no VPC',
    { egress: 'natGateway', database: JobDatabase.fromSecret({}) },
    /^egress is for a VPC that/,
  ],
  [
    'a worker that is too short',
    { workers: { default: { timeout: Duration.seconds(12) } } },
    /^workers.default.timeout must be/,
  ],
])('%s is refused at synth', (_, props, sentence) => {
  expect(() => synthesize(() => props)).toThrow(sentence);
});
