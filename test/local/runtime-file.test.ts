import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startOf } from '../../local/process-identity.ts';
import { Announcement, readRuntimeFile } from '../../local/runtime-file.ts';
import { temporaryDirectory } from './bundle.ts';

test('a runtime is found once all of it is known, and no longer when it withdraws', async () => {
  const directory = await temporaryDirectory();
  const announcement = new Announcement(directory);
  await announcement.change({ workers: [7] });
  expect(await readRuntimeFile(directory)).toBeUndefined();
  const rest = { url: 'http://127.0.0.1:1', databaseUrl: 'postgres://h/d', pid: process.pid };
  await announcement.change({ ...rest, start: (await startOf(process.pid)) ?? '' });
  expect(await readRuntimeFile(directory)).toMatchObject({ ...rest, workers: [7] });
  await announcement.withdraw();
  expect(await readRuntimeFile(directory)).toBeUndefined();
});

test.each(['', '{"url', '{}', 'null', '{"url":"u","databaseUrl":"d","pid":1,"start":"another","workers":[]}'])(
  'what no living runtime wrote (%s) is no runtime',
  async (text) => {
    const directory = await temporaryDirectory();
    await writeFile(join(directory, 'runtime.json'), text);
    expect(await readRuntimeFile(directory)).toBeUndefined();
  },
);
