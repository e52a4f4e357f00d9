import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { App, type Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { typeErrors } from '../support/typescript.ts';
import { type Block, blockNamed, blocksOf, root } from './blocks.ts';

// CDK's own check of a template takes three times as long as the rest, and would judge what is only given here.
process.env.CDK_VALIDATION = 'false';

const blocks = blocksOf('docs/construct.md').filter(({ language }) => language === 'ts');
const others = ['networks', 'encryption', 'choosing'].flatMap((page) => blocksOf(`docs/${page}.md`));
const examples = [...blocks, ...others].filter(({ language, name }) => language === 'ts' && !name.includes('.ts'));

/** What the examples take as given, and what an editor would import. */
const AROUND = `
import { CfnOutput, Duration, Size, Stack, type App } from 'aws-cdk-lib';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import * as ec2 from 'aws-cdk-lib/aws-ec2';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as logs from 'aws-cdk-lib/aws-logs';
import * as rds from 'aws-cdk-lib/aws-rds';
import * as s3 from 'aws-cdk-lib/aws-s3';
import * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import * as sns from 'aws-cdk-lib/aws-sns';
import { JobDatabase, JobQueue } from 'millrace';

export const used = [CfnOutput, Duration, Size, cloudwatch, lambda, logs, secretsmanager, sns, JobDatabase];

class Given extends Stack {
  readonly jobs = { contracts: 'jobs/contracts.ts', processors: 'jobs/processors.ts' };
  #vpc: ec2.IVpc | undefined;
  get vpc() {
    const subnetType = ec2.SubnetType.PRIVATE_WITH_EGRESS;
    const subnetConfiguration = [
      { name: 'Public', subnetType: ec2.SubnetType.PUBLIC },
      { name: 'Private', subnetType },
      { name: 'Jobs', subnetType },
    ];
    return (this.#vpc ??= new ec2.Vpc(this, 'Vpc', { subnetConfiguration }));
  }
  get instance() {
    const engine = rds.DatabaseInstanceEngine.postgres({ version: rds.PostgresEngineVersion.VER_17 });
    return new rds.DatabaseInstance(this, 'Instance', { engine, vpc: this.vpc, iamAuthentication: true });
  }
  get cluster() {
    return new rds.DatabaseCluster(this, 'Cluster', {
      engine: rds.DatabaseClusterEngine.auroraPostgres({ version: rds.AuroraPostgresEngineVersion.VER_17_5 }),
      writer: rds.ClusterInstance.serverlessV2('Writer'),
      vpc: this.vpc,
    });
  }
  get shop() {
    const code = lambda.Code.fromInline('exports.handler = async () => {}');
    return new lambda.Function(this, 'Shop', { runtime: lambda.Runtime.NODEJS_24_X, handler: 'index.handler', code });
  }
  get videos() {
    return new s3.Bucket(this, 'Videos');
  }
}
`;
const GIVEN = ['jobs', 'vpc', 'instance', 'cluster', 'shop', 'videos'];

let folder: string;
let cwd: string;

beforeAll(async () => {
  await mkdir(join(root, 'dist'), { recursive: true });
  folder = await mkdtemp(join(root, 'dist', 'construct-'));
  await mkdir(join(folder, 'jobs', 'templates'), { recursive: true });
  await writeFile(join(folder, 'jobs', 'templates', 'mail.txt'), 'Hello');
  for (const file of ['jobs/contracts.ts', 'jobs/processors.ts']) {
    await writeFile(join(folder, file), blockNamed(blocks, file));
  }
  for (const block of examples) await writeFile(join(folder, `${block.name}.ts`), asStack(block));
  cwd = process.cwd();
  // Where cdk runs: the examples' paths are relative to it.
  process.chdir(folder);
});
afterAll(async () => {
  process.chdir(cwd);
  await rm(folder, { recursive: true, force: true });
});

/** An example as the constructor of a stack, with those of the given things that it names. */
function asStack({ text }: Block): string {
  const own = /(?:const|new) (\w+) =/g;
  const declared = [...text.matchAll(own)].map(([, name]) => name);
  const named = GIVEN.filter((name) => new RegExp(`\\b${name}\\b`).test(text) && !declared.includes(name));
  return `${AROUND}
export class Example extends Given {
  constructor(scope: App, id: string) {
    super(scope, id);
    const { ${named.join(', ')} } = this;
${text}
  }
}
`;
}

test('the examples compile as they would in an app of cdk init', async () => {
  // It sets strict, but not this one, which the types of the CDK itself do not keep to.
  const settings = { exactOptionalPropertyTypes: false, noUnusedLocals: false };
  const errors = await typeErrors(folder, settings);
  // What an app installs are declarations; here our sources are checked too, with settings that are not theirs.
  expect(errors.filter((line) => !line.startsWith('../../lib/'))).toEqual([]);
}, 120_000);

test.each(examples.map(({ name }) => name))(
  '%s synthesizes',
  async (name) => {
    const { Example } = (await import(pathToFileURL(join(folder, `${name}.ts`)).href)) as {
      Example: new (scope: App, id: string) => Stack;
    };
    const outdir = join(folder, `cdk.out-${name}`);
    const app = new App({ outdir, context: { 'aws:cdk:bundling-stacks': [] } });
    const template = Template.fromStack(new Example(app, 'Shop'));
    const functions = Object.values(template.findResources('AWS::Lambda::Function'));
    expect(functions.length).toBeGreaterThan(3);
  },
  60_000,
);

test('with a VPC and a database that are there it takes no more than ten lines', () => {
  expect(blockNamed(blocks, 'existing').trim().split('\n').length).toBeLessThanOrEqual(10);
});
