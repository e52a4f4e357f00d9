import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { handlerBundle } from '../support/handler-bundle.ts';
import { folderInProject } from '../support/typescript.ts';

const CONTRACTS = `
  import * as z from 'zod';
  import { defineJob, type Schedules, schedule } from 'millrace/queue';
  export const contracts = { 'report.send': defineJob({ payload: z.object({}) }) };
  export const schedules: Schedules<typeof contracts> = [
    schedule({ name: 'report.each-evening', cron: '0 20 * * *', zone: 'Europe/Berlin', kind: 'report.send', payload: {} }),
  ];`;

test('what reads the patterns of schedules goes into the bundles of workers alone', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-recurring-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const contracts = join(await folderInProject('recurring'), 'contracts.ts');
  await writeFile(contracts, CONTRACTS);
  const holds = async (name: string, text: string) =>
    (await readFile(handlerBundle(name, folder, { contracts }), 'utf8')).includes(text);
  expect(await holds('enqueue', 'report.send')).toBe(true);
  expect(await holds('enqueue', 'CronPattern')).toBe(false);
  expect(await holds('manage', 'CronPattern')).toBe(false);
  expect(await holds('work', 'report.each-evening')).toBe(true);
  expect(await holds('work', 'CronPattern')).toBe(true);
});
