import { Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import * as ec2 from 'aws-cdk-lib/aws-ec2';
import * as rds from 'aws-cdk-lib/aws-rds';
import * as s3 from 'aws-cdk-lib/aws-s3';
import * as sns from 'aws-cdk-lib/aws-sns';
import { expect, test } from 'vitest';
import { JobDatabase, JobQueue } from '../../lib/index.ts';
import { inApp, type Properties, propertiesOf, SAMPLE, synthesize } from './synthesize.ts';

const usual = synthesize();

/** What an app has that sets no feature flags: all of them are off. */
const NO_FLAGS = { context: {} };

/** A policy as the pairs of what is allowed on what: whether CDK merges statements and sorts actions is a flag. */
function pairsOf(statements: Properties[]): string[] {
  return statements
    .flatMap(({ Action, Resource, ...rest }) =>
      [Action].flat().flatMap((action) => [Resource].flat().map((on) => JSON.stringify([action, on, rest]))),
    )
    .toSorted();
}

/** The template with its policies as pairs, and without the hash that names the migration's version. */
function meaningOf(template: Template): unknown {
  const text = JSON.stringify(template.toJSON(), (key, value) =>
    key === 'Statement' && Array.isArray(value) ? pairsOf(value) : value,
  );
  return JSON.parse(text.replaceAll(/(CurrentVersion[0-9A-F]{8})[0-9a-f]{32}/g, '$1'));
}

test('in an app without our feature flags the template means the same', () => {
  const bare = inApp(NO_FLAGS, (app) => {
    const stack = new Stack(app, 'Millrace');
    new JobQueue(stack, 'Jobs', SAMPLE);
    return Template.fromStack(stack);
  });
  expect(meaningOf(bare)).toEqual(meaningOf(usual.template));
});

test('in a stack of a given account and region it takes the certificates of that region', () => {
  const variables = inApp(NO_FLAGS, (app) => {
    const stack = new Stack(app, 'Abroad', { env: { account: '111122223333', region: 'eu-central-1' } });
    const queue = new JobQueue(stack, 'Jobs', SAMPLE);
    return propertiesOf(Template.fromStack(stack), queue.functions.work).Environment.Variables;
  });
  expect(variables.DATABASE_CA_FILE).toBe('rds-ca/eu-central-1.pem');
});

test('two queues in a stack with other things share nothing, and leave these alone', () => {
  inApp(NO_FLAGS, (app) => {
    const stack = new Stack(app, 'Shop');
    const bucket = new s3.Bucket(stack, 'Invoices');
    const queues = [new JobQueue(stack, 'Mail', SAMPLE), new JobQueue(stack, 'Reports', SAMPLE)] as const;
    bucket.grantRead(queues[1].workerFunction());
    const template = Template.fromStack(stack);
    /** Logical ids that begin so, in the resources whose own begin as `of`. */
    const within = (of: string, others: string) =>
      Object.entries<Properties>(template.toJSON().Resources)
        .filter(([id]) => id.startsWith(of))
        .filter(([, resource]) => new RegExp(`"${others}`).test(JSON.stringify(resource)))
        .map(([id]) => id);
    expect(within('Mail', 'Reports')).toEqual([]);
    expect(within('Reports', 'Mail')).toEqual([]);
    expect(within('Reports', 'Invoices')).toEqual([expect.stringMatching(/^ReportsWorkRoleDefaultPolicy/)]);
    expect(new Set(queues.map(({ metricsName }) => metricsName)).size).toBe(2);
    const users = queues.map(({ loginSecret }) =>
      loginSecret ? propertiesOf(template, loginSecret).GenerateSecretString.SecretStringTemplate : '',
    );
    expect(new Set(users).size).toBe(2);
  });
});

test('a database, a VPC and a topic of another stack are used from there, and that stack needs nothing of the queue', () => {
  inApp(NO_FLAGS, (app) => {
    const data = new Stack(app, 'Data');
    const vpc = new ec2.Vpc(data, 'Vpc') as ec2.IVpc;
    const cluster = new rds.DatabaseCluster(data, 'Cluster', {
      vpc,
      engine: rds.DatabaseClusterEngine.auroraPostgres({ version: rds.AuroraPostgresEngineVersion.VER_16_4 }),
      writer: rds.ClusterInstance.serverlessV2('Writer'),
    });
    const alarmTopic = new sns.Topic(data, 'Topic') as unknown as sns.ITopic;
    const shop = new Stack(app, 'Shop');
    new JobQueue(shop, 'Jobs', { ...SAMPLE, vpc, database: JobDatabase.fromCluster(cluster), alarmTopic });
    app.synth();
    expect(shop.dependencies).toEqual([data]);
    expect(data.dependencies).toEqual([]);
  });
});
