import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import * as yaml from 'yaml';
import * as z from 'zod';
import { PUBLISHED_METRICS } from '../../lib/watch/metrics.ts';
import { adoptApp, launch, tokensIn } from '../local/project.ts';
import { createDatabase, type Database } from '../support/database.ts';
import { pendingJob } from '../support/factories.ts';
import { afterAll, beforeAll, describe, expect, inject, test } from '../support/fixtures.ts';
import { blockNamed, blocksOf, root } from './blocks.ts';

const run = promisify(execFile);
const blocks = blocksOf('docs/metrics.md');
const text = await readFile(join(root, 'docs/metrics.md'), 'utf8');
const [, prometheusPart = '', cloudwatchPart = ''] = text.split(/^## .*$/m);

/** The cells of a table's rows. */
const rowsOf = (part: string) =>
  [...part.matchAll(/^\| `(.+)\|$/gm)].map(([, row = '']) =>
    `\`${row}`.split('|').map((cell) => cell.trim().replaceAll('`', '')),
  );

test('docs/metrics.md shows nothing but what is looked at below', () => {
  expect(blocks.map(({ language, name }) => `${language} ${name}`)).toEqual([
    'sh token',
    'yaml prometheus.yml',
    'yaml rules.yml',
  ]);
});

test('it has each metric that is published in CloudWatch, and none beside', () => {
  const documented = rowsOf(cloudwatchPart).map(([name, , statistic]) => [name, statistic]);
  expect(documented).toEqual(Object.entries(PUBLISHED_METRICS).map(([name, { statistic }]) => [name, statistic]));
});

/** What Prometheus reads of a scrape config, and no more: a word that it does not know keeps it from starting. */
const ScrapeConfig = z.strictObject({
  job_name: z.string(),
  scheme: z.literal('https'),
  metrics_path: z.string(),
  scrape_interval: z.string().regex(/^\d+s$/),
  scrape_timeout: z.string().regex(/^\d+s$/),
  authorization: z.strictObject({ type: z.literal('Bearer'), credentials_file: z.string() }),
  static_configs: z.tuple([z.strictObject({ targets: z.array(z.string().regex(/^[\w.-]+$/)) })]),
});

const Rule = z.strictObject({
  alert: z.string().regex(/^Millrace\w+$/),
  expr: z.string(),
  for: z.string().optional(),
  annotations: z.strictObject({ summary: z.string(), runbook: z.string().startsWith('docs/runbook.md#') }),
});

const scraping = z
  .strictObject({ scrape_configs: z.tuple([ScrapeConfig]) })
  .parse(yaml.parse(blockNamed(blocks, 'prometheus.yml'))).scrape_configs[0];
const [{ rules }] = z
  .strictObject({ groups: z.tuple([z.strictObject({ name: z.string(), rules: z.array(Rule) })]) })
  .parse(yaml.parse(blockNamed(blocks, 'rules.yml'))).groups;

describe('against npm start with tokens', () => {
  let database: Database;
  let directory: string;
  let runtime: ReturnType<typeof launch>;
  let url: string;
  let scraped: string;

  beforeAll(async () => {
    database = await createDatabase(inject('serverUrl'), inject('templateName'));
    directory = await mkdtemp(join(tmpdir(), 'millrace-metrics-'));
    await adoptApp(directory);
    runtime = launch(directory, { DATABASE_URL: database.url, MILLRACE_AUTH: 'on' });
    url = await runtime.ready;
    const command = blockNamed(blocks, 'token').replace('npm run -s token --', `node ${root}bin/millrace.ts token`);
    await run('bash', ['-euo', 'pipefail', '-c', command], { cwd: directory });
    await pendingJob(database.pool, { kind: 'later.one', dueInSeconds: 600 });
    await database.pool.query(`SELECT millrace.enqueue('hello.greet', '{"name": "Ada"}')`);
    scraped = await (await scrape('millrace-token')).text();
  }, 120_000);
  afterAll(async () => {
    await runtime.stop();
    await rm(directory, { recursive: true, force: true });
    await database.drop();
  });

  /** What Prometheus sends by that configuration, to this machine in place of the target. */
  async function scrape(file: string): Promise<Response> {
    const { authorization, metrics_path } = scraping;
    expect(authorization.credentials_file.endsWith('/millrace-token')).toBe(true);
    // Prometheus takes the spaces off what it reads.
    const credentials = (await readFile(join(directory, file), 'utf8')).trim();
    return fetch(`${url}${metrics_path}`, { headers: { authorization: `${authorization.type} ${credentials}` } });
  }

  test('the token of the role reader gets the metrics, in the format that Prometheus reads', async () => {
    const answer = await scrape('millrace-token');
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  });

  test('an operator gets them too; a producer does not, and nobody without a token', async () => {
    const tokens = await tokensIn(directory);
    const statusFor = async (authorization?: string) =>
      (await fetch(`${url}/metrics`, { headers: { ...(authorization && { authorization }) } })).status;
    expect(await statusFor(`Bearer ${tokens.operator}`)).toBe(200);
    expect(await statusFor(`Bearer ${tokens.producer}`)).toBe(403);
    expect(await statusFor()).toBe(401);
  });

  test('the table has each family with its type, and none beside', () => {
    const families = [...scraped.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name, type]) => [name, type]);
    expect(rowsOf(prometheusPart).map(([name, type]) => [name, type])).toEqual(families);
    const labels = new Set([...scraped.matchAll(/^(\w+)\{(\w+)="/gm)].map(([, , label]) => label));
    expect(labels).toEqual(new Set(['kind']));
  });

  test('every rule is about a family that is there, and leads to a heading of the runbook', async () => {
    const runbook = await readFile(join(root, 'docs/runbook.md'), 'utf8');
    const anchors = [...runbook.matchAll(/^## (.+)$/gm)].map(([, title = '']) =>
      title.toLowerCase().replaceAll(' ', '-'),
    );
    expect(rules.length).toBeGreaterThan(0);
    for (const { alert, expr, annotations } of rules) {
      expect(anchors, alert).toContain(annotations.runbook.split('#')[1]);
      const families = expr.match(/millrace_\w+/g) ?? [];
      if (families.length === 0) expect(expr).toContain(`up{job="${scraping.job_name}"}`);
      for (const family of families) expect(scraped, alert).toContain(`# TYPE ${family} `);
    }
  });
});
