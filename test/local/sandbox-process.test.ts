import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { LocalFunction } from '../../local/function.ts';
import { startProcess } from '../../local/sandbox-process.ts';
import { functionOf, isRunning, temporaryDirectory } from './bundle.ts';

function start(fn: LocalFunction, event: unknown = {}) {
  const lines: string[] = [];
  const running = startProcess(fn, event, (_, line) => lines.push(line));
  onTestFinished(() => running.kill());
  return { ...running, lines };
}

describe('an invocation in a process of its own', () => {
  test('gets the event, the context of a Lambda and an environment of its own, and gives its result', async () => {
    const source = `export const handler = async (event, context) => ({
      event, context, remaining: context.getRemainingTimeInMillis(), home: process.env.HOME, shell: process.env.VITEST, url: process.env.DATABASE_URL });`;
    const { ended } = start(await functionOf(source, { timeoutSeconds: 7 }), { slot: 0 });
    const ending = await ended;
    expect(ending.kind).toBe('returned');
    const seen = JSON.parse(ending.kind === 'returned' ? ending.json : '');
    expect(seen).toMatchObject({
      event: { slot: 0 },
      url: 'postgres://nobody@127.0.0.1:1/none',
      context: {
        functionName: 'Tested',
        memoryLimitInMB: '128',
        functionVersion: '$LATEST',
        awsRequestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      },
    });
    expect(seen.shell).toBeUndefined();
    expect(seen.remaining).toBeGreaterThan(6500);
    expect(seen.remaining).toBeLessThanOrEqual(7000);
  });

  test('is killed at its timeout even when it blocks the event loop', async () => {
    const running = start(await functionOf('export const handler = () => { for (;;); };', { timeoutSeconds: 0.3 }));
    expect(await running.ended).toEqual({ kind: 'timed out' });
    expect(isRunning(running.pid)).toBe(false);
  });

  test('tells what it threw, and what it wrote', async () => {
    const running = start(
      await functionOf(
        'export const handler = async () => { console.log("one"); console.error("two"); throw new RangeError("three"); };',
      ),
    );
    expect(await running.ended).toMatchObject({ kind: 'threw', error: { name: 'RangeError', message: 'three' } });
    expect(running.lines.sort()).toEqual(['one', 'two']);
  });

  test.each([
    ['export const handler = () => process.exit(3);', 'exit code 3'],
    ['export const handler = () => process.kill(process.pid, "SIGKILL");', 'signal SIGKILL'],
    [
      'export const handler = () => new Promise((_, reject) => setTimeout(() => { throw new Error("late"); }, 10));',
      'exit code 1',
    ],
  ])('%s: died, %s', async (source, how) => {
    expect(await start(await functionOf(source)).ended).toEqual({ kind: 'died', how });
  });

  test('a bundle that cannot be loaded is an error, not a silence', async () => {
    expect(await start(await functionOf('import "no-such-package";')).ended).toMatchObject({
      kind: 'threw',
      error: { message: expect.stringContaining('no-such-package') },
    });
  });

  test('leaves no process behind though its bundle keeps timers and sockets open', async () => {
    const running = start(
      await functionOf('setInterval(() => {}, 1000); export const handler = async () => "done";', {
        timeoutSeconds: 600,
      }),
    );
    expect(await running.ended).toEqual({ kind: 'returned', json: '"done"' });
    expect(isRunning(running.pid)).toBe(false);
  });

  test('a drain is a SIGTERM that the handler may answer in its own time', async () => {
    const source = `export const handler = (event) => new Promise((resolve) => {
      process.once('SIGTERM', () => setTimeout(resolve, 50, 'drained'));
      setInterval(() => {}, 1000);
      console.log('listening'); });`;
    const running = start(await functionOf(source));
    await expect.poll(() => running.lines).toEqual(['listening']);
    running.drain();
    expect(await running.ended).toEqual({ kind: 'returned', json: '"drained"' });
  });
});

describe('a process whose runtime was killed', () => {
  test('drains, though nobody reads what it writes', async () => {
    const drained = join(await temporaryDirectory(), 'drained');
    const pid = await orphanOf(`process.once('SIGTERM', () => {
      setTimeout(() => process.stdout.write('draining'), 50);
      setTimeout(() => { writeFileSync(${JSON.stringify(drained)}, ''); resolve(); }, 150); });`);
    await expect.poll(() => isRunning(pid), { timeout: 5000 }).toBe(false);
    expect(existsSync(drained)).toBe(true);
  });

  test('ends when it does not listen', async () => {
    const pid = await orphanOf('');
    await expect.poll(() => isRunning(pid), { timeout: 5000 }).toBe(false);
  });
});

/** Pid of an invocation at work whose parent has just been killed. */
async function orphanOf(body: string): Promise<number> {
  const fn = await functionOf(`import { writeFileSync } from 'node:fs';
    export const handler = () => new Promise((resolve) => { ${body} setInterval(() => {}, 1000); console.log('at work'); });`);
  const script = join(await temporaryDirectory(), 'runtime.ts');
  const module = new URL('../../local/sandbox-process.ts', import.meta.url).href;
  await writeFile(
    script,
    `import { startProcess } from ${JSON.stringify(module)};
     const running = startProcess(${JSON.stringify(fn)}, {}, () => console.log(running.pid));`,
  );
  const runtime = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'inherit'] });
  const pid = Number(await new Promise<Buffer>((resolve) => runtime.stdout.once('data', resolve)));
  expect(isRunning(pid)).toBe(true);
  runtime.kill('SIGKILL');
  return pid;
}
