import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { chmod, readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { App } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { describe, expect, onTestFinished, test } from 'vitest';
import { tokensOf } from '../../functions/lambda/tokens.ts';
import { JobQueueStack } from '../../lib/index.ts';
import { PUBLISHED_METRICS } from '../../lib/watch/metrics.ts';
import { SAMPLE, synthesize } from '../lib/synthesize.ts';
import { temporaryDirectory } from '../local/bundle.ts';
import { monthlyCost } from '../stack/monthly-cost.ts';
import { blockNamed, blocksOf, root } from './blocks.ts';

const run = promisify(execFile);
const documents = [
  'README.md',
  ...(await readdir(join(root, 'docs'))).filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`),
];

describe('links', () => {
  test.each(documents)('%s leads to what is there', async (document) => {
    const text = await readFile(join(root, document), 'utf8');
    const links = [...text.matchAll(/\]\((?!https?:)([^)\s]*)\)/g)].map(([, target]) => target as string);
    for (const target of links) {
      const [path = '', anchor] = target.split('#');
      const file = path === '' ? document : join(dirname(document), path);
      const found = await readFile(join(root, file), 'utf8').catch(() => undefined);
      expect(found, `${document}: ${target}`).toBeDefined();
      if (anchor !== undefined) expect(anchorsOf(found as string), `${document}: ${target}`).toContain(anchor);
    }
  });
});

/** As GitHub makes them of headings. */
function anchorsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\s-]/g, '')
      .replaceAll(' ', '-'),
  );
}

describe('docs/deploy.md', () => {
  const blocks = blocksOf('docs/deploy.md');

  test('names the outputs that there are', async () => {
    const text = await readFile(join(root, 'docs/deploy.md'), 'utf8');
    const outputs = [...text.matchAll(/^\| `([A-Z]\w+)`/gm)].map(([, name]) => name);
    const app = new App({ outdir: await temporaryDirectory(), context: { 'aws:cdk:bundling-stacks': [] } });
    const template = Template.fromStack(new JobQueueStack(app, 'Millrace', SAMPLE));
    expect(outputs.toSorted()).toEqual(Object.keys(template.findOutputs('*')).toSorted());
  });

  test('makes a first token that opens the API, and keeps its hash alone', async () => {
    const { home, shell } = await terminal({
      // Prints what was asked for; keeps what is put.
      aws: `case "$*" in
        *ApiUrl*) echo "$STAND_IN_URL" ;;
        *TokensSecretArn*) echo arn:aws:secretsmanager:us-east-1:123456789012:secret:tokens ;;
        *put-secret-value*) echo "$*" > put; cp tokens.json put.json ;;
        *) echo "aws does not know $*" >&2; exit 1 ;;
      esac`,
      npm: `shift 4; exec node "${root}bin/token.ts" "$@"`,
    });
    const requests: string[] = [];
    const server = createServer((request, response) => {
      requests.push(`${request.method} ${request.url} ${request.headers.authorization}`);
      response.end('{}');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

    const commands = `${blockNamed(blocks, 'token')}\n${blockNamed(blocks, 'job')}\necho "$MILLRACE_TOKEN" > token`;
    await shell(commands, { STAND_IN_URL: url });
    const token = (await readFile(join(home, 'token'), 'utf8')).trim();
    expect(token).toMatch(/^mlr_/);
    const kept = await readFile(join(home, 'put.json'), 'utf8');
    expect(tokensOf(kept).usable).toMatchObject([{ name: 'me', role: 'operator' }]);
    expect(kept).not.toContain(token);
    expect(await readFile(join(home, 'put'), 'utf8')).toContain('--secret-string file://tokens.json');
    expect(requests).toEqual([
      `POST /jobs Bearer ${token}`,
      `GET /jobs?kind=hello.greet Bearer ${token}`,
      `GET /ready Bearer ${token}`,
    ]);
  });

  test('switches the protection of the stack’s own database off before it takes it away', async () => {
    const { home, shell } = await terminal({
      aws: `echo "$*" >> calls; case "$*" in *describe-stack-resources*) echo millrace-db ;; esac`,
      npx: 'echo "$*" >> calls',
    });
    await shell(blockNamed(blocks, 'destroy'));
    const [look, protect, destroy] = (await readFile(join(home, 'calls'), 'utf8')).trim().split('\n');
    expect(look).toContain('AWS::RDS::DBInstance');
    expect(protect).toBe(
      'rds modify-db-instance --db-instance-identifier millrace-db --no-deletion-protection --apply-immediately',
    );
    expect(destroy).toBe('cdk destroy');
  });
});

/** The parts that the text names; the ceilings of the table are held by test/stack/price.test.ts. */
test('docs/deploy.md says what the template costs', async () => {
  const costs = (egress: 'natInstance' | 'natGateway') =>
    monthlyCost(synthesize(() => ({ egress })).template, { metrics: Object.keys(PUBLISHED_METRICS) });
  const sum = (lines: ReturnType<typeof costs>, what = /./) =>
    lines.filter((line) => what.test(line.what)).reduce((total, { usd }) => total + usd, 0);
  const own = costs('natInstance');
  const text = (await readFile(join(root, 'docs/deploy.md'), 'utf8')).replaceAll(/\s+/g, ' ');
  const said = (what: RegExp) => Number(what.exec(text)?.[1]);
  expect(said(/the database \$([\d.]*\d)/)).toBeCloseTo(sum(own, /^database/), 0);
  expect(said(/worker that is always there \$([\d.]*\d)/)).toBeCloseTo(sum(own, /^worker/), 0);
  expect(said(/NAT instance and its address \$([\d.]*\d)/)).toBeCloseTo(sum(own, /^NAT|IPv4/), 0);
  expect(said(/metrics and alarms \$([\d.]*\d)/)).toBeCloseTo(sum(own, /^metrics|^alarms/), 0);
  expect(said(/secrets \$([\d.]*\d)/)).toBeCloseTo(sum(own, /^secrets/), 1);
  expect(said(/natGateway'` adds \$([\d.]*\d)/)).toBeCloseTo(sum(costs('natGateway')) - sum(own), 0);
});

/** A shell in a folder of its own, with these commands in place of the machine's. */
async function terminal(commands: Readonly<Record<string, string>>) {
  const home = await temporaryDirectory();
  for (const [name, script] of Object.entries(commands)) {
    await writeFile(join(home, name), `#!/bin/sh\n${script}\n`);
    await chmod(join(home, name), 0o755);
  }
  const PATH = [home, dirname(process.execPath), process.env.PATH].join(':');
  const shell = (text: string, env: Readonly<Record<string, string>> = {}) =>
    run('bash', ['-euo', 'pipefail', '-c', text], { cwd: home, env: { PATH, ...env } });
  return { home, shell };
}
