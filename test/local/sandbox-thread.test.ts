import { expect, onTestFinished, test } from 'vitest';
import { ThreadSandbox } from '../../local/sandbox-thread.ts';
import { functionOf } from './bundle.ts';

async function sandboxOf(source: string, over: Parameters<typeof functionOf>[1] = {}) {
  const lines: string[] = [];
  const sandbox = new ThreadSandbox(await functionOf(source, over), (_, line) => lines.push(line));
  onTestFinished(() => sandbox.close());
  return { lines, invoke: (event: unknown) => sandbox.invoke(event, 'request-1'), retire: () => sandbox.retire() };
}

test('a thread is loaded once, has its own environment and its own context per invocation', async () => {
  const { invoke } = await sandboxOf(
    `let loaded = 0; loaded += 1;
     export const handler = async (event, context) => [loaded, event, context.awsRequestId, process.env.VITEST ?? null, process.env.DATABASE_URL];`,
  );
  const seen = { kind: 'returned', json: '[1,{"n":1},"request-1",null,"postgres://nobody@127.0.0.1:1/none"]' };
  expect(await Promise.all([invoke({ n: 1 }), invoke({ n: 1 })])).toEqual([seen, seen]);
});

test('an invocation that runs into its timeout does not cut off its neighbours, and the next gets a fresh thread', async () => {
  const { invoke } = await sandboxOf(
    `let used = 0;
     export const handler = (wait) => { used += 1; const n = used; return new Promise((resolve) => setTimeout(resolve, wait, n)); };`,
    { timeoutSeconds: 1.2 },
  );
  const hung = invoke(60_000);
  await new Promise((resolve) => setTimeout(resolve, 700));
  const neighbour = invoke(800);
  expect(await hung).toEqual({ kind: 'timed out' });
  expect(await invoke(0)).toEqual({ kind: 'returned', json: '1' });
  expect(await neighbour).toEqual({ kind: 'returned', json: '2' });
});

test('a crash ends what is under way and nothing that comes after', async () => {
  const { invoke } = await sandboxOf(
    'export const handler = async (event) => event === "crash" ? process.exit(1) : new Promise((r) => setTimeout(r, 100, "fine"));',
  );
  expect(await Promise.all([invoke(''), invoke('crash')])).toEqual([
    { kind: 'died', how: 'exit code 1' },
    { kind: 'died', how: 'exit code 1' },
  ]);
  expect(await invoke('')).toEqual({ kind: 'returned', json: '"fine"' });
});

test('a heap above the memory of the function ends the thread, not the runtime', async () => {
  const { invoke } = await sandboxOf(
    'const kept = []; export const handler = () => { for (;;) kept.push(new Array(1e5).fill({})); };',
    { memoryMegabytes: 64 },
  );
  expect(await invoke('')).toMatchObject({ kind: 'died', how: expect.stringContaining('memory') });
});

test('one that retires while it is loaded answers who waits for that; one that is never loaded lets nobody wait', async () => {
  const slow = await sandboxOf(
    'await new Promise((resolve) => setTimeout(resolve, 300)); export const handler = async () => "late";',
  );
  const waiting = slow.invoke('');
  await slow.retire();
  expect(await waiting).toEqual({ kind: 'returned', json: '"late"' });
  const stuck = await sandboxOf('setInterval(() => {}, 1000); await new Promise(() => {}); export const handler = 0;', {
    timeoutSeconds: -9.5,
  });
  expect(await stuck.invoke('')).toEqual({ kind: 'died', how: 'SIGKILL, since it was not loaded within 0.5 s' });
});
