import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { App } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { describe, expect, onTestFinished, test } from 'vitest';
import { tokensOf } from '../../functions/lambda/tokens.ts';
import { JobQueueStack } from '../../lib/index.ts';
import { SAMPLE } from '../lib/synthesize.ts';
import { temporaryDirectory } from '../local/bundle.ts';
import { startSecretsManager } from '../support/secrets-manager.ts';
import { blockNamed, blocksOf, root } from './blocks.ts';

const run = promisify(execFile);
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
    const manager = await startSecretsManager();
    onTestFinished(() => manager.close());
    const arn = manager.create({ tokens: [] });
    const { home, shell } = await terminal({
      aws: `case "$*" in
        *ApiUrl*) echo "$STAND_IN_URL" ;;
        *TokensSecretArn*) echo ${arn} ;;
        *) echo "aws does not know $*" >&2; exit 1 ;;
      esac`,
      // In the checkout, where the SDK is found.
      npx: `shift; cd "${root}"; exec node bin/millrace.ts "$@"`,
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
    await shell(commands, { ...manager.environment, STAND_IN_URL: url });
    const token = (await readFile(join(home, 'token'), 'utf8')).trim();
    expect(token).toMatch(/^mlr_/);
    const kept = JSON.stringify(manager.value(arn));
    expect(tokensOf(kept).usable).toMatchObject([{ name: 'me', role: 'operator' }]);
    expect(kept).not.toContain(token);
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
