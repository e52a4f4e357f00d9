/** What must compile, and what must not: `npm run types` reads it, types.test.ts too. Nothing here is run. */
import * as z from 'zod';
import { type ApiError, Client, type Job } from '../../client/index.ts';
import { defineJob } from '../../functions/queue/contract.ts';

const contracts = {
  'hello.greet': defineJob({ payload: z.object({ name: z.string(), times: z.number().default(1) }) }),
  'invoice.send': defineJob({ payload: z.strictObject({ id: z.coerce.number<string>() }) }),
  'nothing.todo': defineJob({ payload: z.null() }),
};

const client = new Client<typeof contracts>({ url: 'https://jobs.example' });
const untyped = new Client({ url: 'https://jobs.example' });

export async function compiles(error: ApiError) {
  // A default may be left out, and what is given is what the schema takes, not what it makes of it.
  await client.enqueue('hello.greet', { name: 'Ada' });
  await client.enqueue('invoice.send', { id: '7' }, { priority: 5, runAt: new Date(), signal: AbortSignal.timeout(9) });
  await client.enqueueMany([
    { kind: 'hello.greet', payload: { name: 'Ada' }, uniqueKey: 'u' },
    { kind: 'nothing.todo', payload: null },
  ]);
  const kinds = ['hello.greet', 'nothing.todo'] as const;
  await client.enqueueMany(
    kinds.map((kind) => (kind === 'hello.greet' ? { kind, payload: { name: 'A' } } : { kind, payload: null })),
  );
  await untyped.enqueue('anything', { at: 'all' });
  await untyped.enqueueMany([{ kind: 'anything', payload: 1 }]);

  const job: Job = await client.get('id');
  const { payload, result } = await client.get('id', { include: ['payload', 'result'] });
  const ended = await client.waitFor('id');
  const status: 'completed' | 'dead' | 'cancelled' = ended.status;
  const { job: created } = await client.enqueue('hello.greet', { name: 'Ada' });
  for await (const { lastError } of client.list({ kind: 'hello.greet' })) console.log(lastError?.message);
  await client.pause({ queue: 'any' });
  await client.resume({ schedule: 'report.nightly' });
  if (error.code === 'no-such-job' || error.code === 'one-to-come') return;
  return [job, payload, result, ended.result, status, created?.attempts];
}

export async function doesNotCompile() {
  // @ts-expect-error: no such kind
  await client.enqueue('hello.great', { name: 'Ada' });
  // @ts-expect-error: a payload of another kind
  await client.enqueue('invoice.send', { name: 'Ada' });
  // @ts-expect-error: a field of another type
  await client.enqueue('hello.greet', { name: 7 });
  // @ts-expect-error: a field is missing
  await client.enqueue('hello.greet', {});
  // @ts-expect-error: a field too many
  await client.enqueue('hello.greet', { name: 'Ada', nam: 'Ada' });
  // @ts-expect-error: no payload
  await client.enqueue('hello.greet');
  // @ts-expect-error: what the schema makes of it is not what it takes
  await client.enqueue('invoice.send', { id: 7 });
  // @ts-expect-error: an option's name on the wire
  await client.enqueue('hello.greet', { name: 'Ada' }, { run_at: new Date() });
  // @ts-expect-error: no such option's value
  await client.enqueue('hello.greet', { name: 'Ada' }, { uniqueWhile: 'always' });
  // @ts-expect-error: kind and payload do not belong together
  await client.enqueueMany([{ kind: 'hello.greet', payload: { id: '7' } }]);
  // @ts-expect-error: no such kind in a batch
  await client.enqueueMany([{ kind: 'hello.great', payload: { name: 'Ada' } }]);
  // @ts-expect-error: no such kind to list
  client.list({ kind: 'hello.great' });
  // @ts-expect-error: no such status
  await client.counts({ status: 'failed' });
  // @ts-expect-error: no such kind to redrive
  await client.redriveMany({ kind: 'hello.great' });
  // @ts-expect-error: no such kind to pause
  await client.pause({ kind: 'hello.great' });
  // @ts-expect-error: a kind or a queue, not both
  await client.pause({ kind: 'hello.greet', queue: 'default' });
  // @ts-expect-error: a queue or a schedule, not both
  await client.pause({ queue: 'default', schedule: 'report.nightly' });
  // @ts-expect-error: neither a kind nor a queue, nor a schedule
  await client.pause({});
  // @ts-expect-error: no such part
  await client.get('id', { include: ['errors'] });
  // @ts-expect-error: parts are there only if they were asked for
  (await client.get('id')).payload;
  // @ts-expect-error: waitFor brings the result alone
  (await client.waitFor('id')).payload;
  // @ts-expect-error: a job that has ended is not pending
  if ((await client.waitFor('id')).status === 'pending') return;
  // @ts-expect-error: the job may be gone
  (await client.enqueue('hello.greet', { name: 'Ada' })).job.attempts;
  // @ts-expect-error: no URL
  new Client<typeof contracts>({});
}
