import { spawn } from 'node:child_process';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { lock } from '../../local/lock.ts';
import { startOf } from '../../local/process-identity.ts';
import { temporaryDirectory } from './bundle.ts';

test('one runtime at a time, the next when it is gone, and no file left', async () => {
  const directory = await temporaryDirectory();
  const unlock = await lock(directory);
  await expect(lock(directory)).rejects.toMatchObject({
    code: 'already_running',
    message: expect.stringContaining(`process ${process.pid}`),
  });
  await unlock();
  await (await lock(directory))();
  expect(await readdir(directory)).toEqual([]);
});

test('the lock of a process that is gone is taken over', async () => {
  const directory = await temporaryDirectory();
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
  const pid = child.pid ?? 0;
  await writeFile(join(directory, 'lock'), JSON.stringify({ pid, start: await startOf(pid) }));
  await expect(lock(directory)).rejects.toThrow('already runs');
  child.kill('SIGKILL');
  await new Promise((resolve) => child.once('exit', resolve));
  await (await lock(directory))();
});

test('another process that got the same pid does not hold it, nor does a file of rubbish', async () => {
  const directory = await temporaryDirectory();
  for (const content of [JSON.stringify({ pid: process.pid, start: 'another boot' }), '{', '']) {
    await writeFile(join(directory, 'lock'), content);
    await (await lock(directory))();
  }
});

test("one that died while it removed a stale lock is in nobody's way", async () => {
  const directory = await temporaryDirectory();
  for (const name of ['lock', 'lock.turn']) await writeFile(join(directory, name), '{"pid":1,"start":"never"}');
  await (await lock(directory))();
  expect(await readdir(directory)).toEqual([]);
});

test('of many that find a stale lock at once exactly one gets it', async () => {
  const directory = await temporaryDirectory();
  for (let round = 0; round < 60; round += 1) {
    await writeFile(join(directory, 'lock'), '{"pid":1,"start":"never"}');
    const results = await Promise.allSettled(Array.from({ length: 12 }, () => lock(directory)));
    const held = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    expect(held).toHaveLength(1);
    await held[0]?.();
  }
});
