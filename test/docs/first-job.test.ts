import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { nextSteps } from '../../cli/init/next-steps.ts';
import { plan } from '../../cli/init/plan.ts';
import { readProject } from '../../cli/init/project.ts';
import { contracts } from '../../cli/init/template/jobs/contracts.ts';
import { processors } from '../../cli/init/template/jobs/processors.ts';
import { runProcessor } from '../../testing/index.ts';
import { temporaryDirectory } from '../local/bundle.ts';
import { blockNamed, blocksOf, root } from './blocks.ts';
import { otherBlocksOf } from './examples.ts';

const block = (name: string) => blockNamed(blocksOf('docs/first-job.md'), name).trim();

test('docs/first-job.md shows what init writes, and commands that test/cli/init and test/cli/dev run', async () => {
  const others = ['sh pack', 'sh init', 'sh dev', 'sh enqueue', 'sh look', 'ts lines'];
  expect(await otherBlocksOf('docs/first-job.md')).toEqual(others);
});

test('its table has the files that init writes into an empty folder', async () => {
  const page = await readFile(join(root, 'docs/first-job.md'), 'utf8');
  const rows = [...page.matchAll(/^\| (`[^|]+`) /gm)].flatMap(([, cell = '']) => cell.match(/[^`, ]+/g) ?? []);
  const project = readProject(await temporaryDirectory());
  const { changes } = plan(project, { spec: () => '^0.1.0', force: false });
  expect(rows.toSorted()).toEqual(changes.map(({ path }) => path).toSorted());
});

test('it goes on as init itself says', () => {
  const project = { manager: 'npm', hasCdkApp: false, hasQueue: false } as Parameters<typeof nextSteps>[0];
  const said = nextSteps(project, { isInstalled: true, isNew: true }).map((line) => line.trim().split(/ {2,}/)[0]);
  const kind = (command: string) => command.replaceAll(/["' ]/g, '');
  expect(said).toContain(block('dev'));
  expect(said.map((line) => kind(line as string))).toContain(kind(block('enqueue')));
});

test('the lines that it adds to a CDK app are those that init prints', () => {
  const project = { manager: 'npm', hasCdkApp: true, hasQueue: false } as Parameters<typeof nextSteps>[0];
  const lines = nextSteps(project, { isInstalled: true, isNew: true }).map((line) => line.replace(/^ {2}/, ''));
  expect(lines.join('\n')).toContain(block('lines'));
});

test('the job prints what the page says', async () => {
  const [, payload = ''] = /'(\{.*\})'/.exec(block('enqueue')) ?? [];
  const run = await runProcessor(contracts, processors, 'welcome.send', JSON.parse(payload));
  const page = await readFile(join(root, 'docs/first-job.md'), 'utf8');
  expect(page).toContain(`\`${JSON.stringify(run.result)}\``);
});
