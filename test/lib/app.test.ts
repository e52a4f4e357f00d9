import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ROUTES } from '../../functions/lambda/routes.ts';
import type { Properties } from './synthesize.ts';

const repository = fileURLToPath(new URL('../..', import.meta.url));
const bin = join(repository, 'node_modules', '.bin');
let out: string;
let said: string;
let resources: Record<string, Properties>;

/** `npx cdk synth` as a newcomer's machine would run it: no credentials, no settings, no Docker. One run serves all tests here. */
beforeAll(async () => {
  out = await mkdtemp(join(tmpdir(), 'millrace-app-'));
  const cdk = await execa(join(bin, 'cdk'), ['synth', '--quiet', '--no-notices', '--output', join(out, 'cdk.out')], {
    cwd: repository,
    extendEnv: false,
    env: { PATH: [bin, '/usr/bin', '/bin'].join(delimiter), HOME: out, DOCKER_HOST: 'tcp://127.0.0.1:1' },
    all: true,
  });
  said = cdk.all;
  resources = JSON.parse(await readFile(join(out, 'cdk.out', 'Millrace.template.json'), 'utf8')).Resources;
}, 180_000);
afterAll(() => rm(out, { recursive: true, force: true }));

const idsOf = (type: string) => Object.keys(resources).filter((id) => resources[id]?.Type === type);

/** The folder of a function's bundle, by its construct id. */
function bundleOf(name: string): string {
  const fn = Object.values(resources).find(
    ({ Metadata }) => Metadata?.['aws:cdk:path'] === `Millrace/Jobs/${name}/Resource`,
  );
  return join(out, 'cdk.out', fn?.Metadata['aws:asset:path']);
}

/** What a module's text writes in a Node of its own, in that folder and with nothing else in its environment. */
async function bare(cwd: string, source: string, env: Record<string, string> = {}): Promise<string> {
  const node = execa(join(bin, 'node'), ['--input-type=module', '--eval', source], { cwd, extendEnv: false, env });
  return node.then(
    ({ stdout }) => stdout,
    // Node shows the line that failed, and a bundle has few lines.
    (error) => Promise.reject(new Error(/^\w*Error.*/m.exec(error.stderr)?.[0] ?? 'no reason given')),
  );
}

test('synth says nothing but what it bundles', () => {
  const lines = said
    .split('\n')
    .filter((line) => !/^Bundling asset Millrace\/Jobs\/\w+\/Code\/Stage\.\.\.$/.test(line));
  expect(lines).toEqual([]);
});

/** A new id is a new resource: the old database, with all its jobs, would make way for an empty one. */
test('what holds state keeps its logical id', () => {
  const stateful = ['RDS::DBInstance', 'RDS::DBSubnetGroup', 'SecretsManager::Secret', 'EC2::VPC', 'EC2::Subnet'];
  expect(stateful.flatMap((type) => idsOf(`AWS::${type}`))).toEqual([
    'JobsDatabaseInstanceF5CE9CC7',
    'JobsDatabaseInstanceSubnetGroup2408DBE4',
    'JobsDatabaseLoginSecret0C22799C',
    'JobsTokens12DFEDB7',
    'JobsNetworkVpc6B6B4C2E',
    'JobsNetworkVpcPublicSubnet1Subnet3966457A',
    'JobsNetworkVpcPublicSubnet2Subnet2EDB7DEF',
    'JobsNetworkVpcFunctionsSubnet1Subnet2BB2154B',
    'JobsNetworkVpcFunctionsSubnet2SubnetC8BD778D',
    'JobsNetworkVpcDatabaseSubnet1Subnet98E0183F',
    'JobsNetworkVpcDatabaseSubnet2Subnet080FDA07',
  ]);
});

test('the fallback knows the routes that there are', () => {
  const routes = idsOf('AWS::ApiGatewayV2::Route').map((id) => resources[id]?.Properties.RouteKey);
  expect(routes.toSorted()).toEqual(['$default', ...Object.keys(ROUTES)].toSorted());
});

describe('bundles', () => {
  /** Bytes at most of the handler's own code. What a producer loads on a cold start counts most. */
  const LIMITS = {
    Authorize: 20_000,
    Enqueue: 220_000,
    JobsRead: 220_000,
    Manage: 220_000,
    Ready: 220_000,
    Metrics: 220_000,
    OpenApi: 150_000,
    Health: 20_000,
    Fallback: 20_000,
    // With what reckons the fire times of schedules, some 33 KB.
    Work: 310_000,
    Reap: 220_000,
    Migrate: 220_000,
    Rotate: 220_000,
  };

  test.each(Object.entries(LIMITS))(
    '%s loads in a bare process and is no larger than %i bytes',
    async (name, limit) => {
      const directory = bundleOf(name);
      const written = await bare(directory, `console.log(typeof (await import('./index.mjs')).handler)`, {
        DATABASE_SECRET_ARN: 'arn:aws:secretsmanager:us-east-1:123456789012:secret:none',
      });
      expect(written).toBe('function');
      expect((await stat(join(directory, 'index.mjs'))).size).toBeLessThan(limit);
    },
  );

  test('processors are in the worker alone', async () => {
    const own = await Promise.all(
      Object.keys(LIMITS).map((name) => readFile(join(bundleOf(name), 'index.mjs'), 'utf8')),
    );
    const withProcessors = Object.keys(LIMITS).filter((_, at) => own[at]?.includes('INSERT INTO public.webhook_tally'));
    expect(withProcessors).toEqual(['Work']);
  });

  test('errors keep the names of their classes', async () => {
    const written = await bare(
      bundleOf('Work'),
      `process.env.WORKER_CONCURRENCY = 'many';
       await (await import('./index.mjs')).handler({ slot: 0 }, {}).catch((error) => console.log(error.name))`,
    );
    expect(written.split('\n').at(-1)).toBe('ConfigurationError');
  });

  test('the migrations are where the migration looks for them', async () => {
    const bundled = await readdir(join(bundleOf('Migrate'), 'migrations'));
    const own = await readdir(join(repository, 'migrations'));
    expect(bundled.filter((name) => name.endsWith('.sql'))).toEqual(own.filter((name) => name.endsWith('.sql')));
  });

  test('the certificates are where the template says', async () => {
    const template = Object.values(resources).find(
      ({ Properties }) => Properties?.Environment?.Variables.DATABASE_CA_FILE,
    );
    const path = template?.Properties.Environment.Variables.DATABASE_CA_FILE['Fn::Join'][1];
    expect(path).toEqual(['rds-ca/', { Ref: 'AWS::Region' }, '.pem']);
    for (const name of ['Enqueue', 'Work', 'Migrate']) {
      const pem = await readFile(join(bundleOf(name), 'rds-ca', 'us-east-1.pem'), 'utf8');
      expect(pem.match(/-----BEGIN CERTIFICATE-----/g)).toHaveLength(8);
    }
  });

  test.each(['Enqueue', 'Authorize'])('the SDK that %s brings reads a secret', async (name) => {
    const server = createServer((_, response) => response.end(JSON.stringify({ SecretString: 'open sesame' })));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const written = await bare(
      bundleOf(name),
      `const { GetSecretValueCommand, SecretsManagerClient } = await import('#sdk/secrets-manager');
       const { SecretString } = await new SecretsManagerClient().send(new GetSecretValueCommand({ SecretId: 'x' }));
       console.log(SecretString)`,
      {
        AWS_REGION: 'us-east-1',
        AWS_ACCESS_KEY_ID: 'key',
        AWS_SECRET_ACCESS_KEY: 'secret',
        AWS_ENDPOINT_URL_SECRETS_MANAGER: `http://127.0.0.1:${port}`,
      },
    ).finally(() => server.close());
    expect(written).toBe('open sesame');
  });
});
