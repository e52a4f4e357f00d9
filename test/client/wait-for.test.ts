import { expect, test } from 'vitest';
import { Client } from '../../client/index.ts';
import { hang, hangUp, ID, job, json, problem, serve } from './server.ts';

const pending = json(200, job());
const completed = json(200, job({ status: 'completed', result: { greeting: 'Hello, Ada!' } }));

test('resolves the job with its result once it has ended', async () => {
  const server = await serve(completed);
  const ended = await new Client({ url: server.url }).waitFor(ID);
  expect(ended).toMatchObject({ id: ID, status: 'completed', result: { greeting: 'Hello, Ada!' } });
  expect(server.seen.map(({ target }) => target)).toEqual([`/jobs/${ID}?include=result&wait=20`]);
});

test.each(['dead', 'cancelled'])('%s is an end, too', async (status) => {
  const server = await serve(json(200, job({ status, result: null })));
  expect(await new Client({ url: server.url }).waitFor(ID)).toMatchObject({ status, result: null });
});

test('asks for other parts, or none, as a producer must', async () => {
  const server = await serve(completed);
  const client = new Client({ url: server.url });
  await client.waitFor(ID, { include: ['payload', 'result'] });
  await client.waitFor(ID, { include: [] });
  expect(server.seen.map(({ target }) => target)).toEqual([
    `/jobs/${ID}?include=payload%2Cresult&wait=20`,
    `/jobs/${ID}?wait=20`,
  ]);
});

test('looks again, under one request id, and at once only where the API has held the answer', async () => {
  // It answers without holding, so the looks come a second apart: else they would come as fast as the network allows.
  const server = await serve(pending, completed);
  const beganAt = performance.now();
  await new Client({ url: server.url }).waitFor(ID);
  const [first, second] = server.seen;
  expect((second?.at ?? 0) - beganAt).toBeGreaterThan(990);
  expect(second?.headers['x-request-id']).toBe(first?.headers['x-request-id']);
});

test('waits as long as Retry-After says when too many wait', async () => {
  const server = await serve(json(200, job(), { 'retry-after': '2' }), completed);
  await new Client({ url: server.url }).waitFor(ID);
  const [first, second] = server.seen;
  expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThan(1990);
});

test('the API holds no answer longer than there is time, and then the error says what the job is doing', async () => {
  const server = await serve(json(200, job({ status: 'processing' })));
  const waiting = new Client({ url: server.url }).waitFor(ID, { timeoutSeconds: 1.5 });
  await expect(waiting).rejects.toMatchObject({
    code: 'timed-out',
    message: expect.stringMatching(/The job has not ended within 1\.5 s, it is processing/),
  });
  const holds = server.seen.map(({ target }) => Number(target.replace(`/jobs/${ID}?include=result&wait=`, '')));
  expect(holds[0]).toBe(1);
  expect(holds.slice(1).filter((hold) => hold !== 0)).toEqual([]);
});

test('an end within the last second is seen: it does not give up as long as there is time for a look', async () => {
  const server = await serve(pending, completed);
  const beganAt = performance.now();
  expect(await new Client({ url: server.url }).waitFor(ID, { timeoutSeconds: 1 })).toMatchObject({
    status: 'completed',
  });
  expect(performance.now() - beganAt).toBeLessThan(1000);
  expect(server.seen.length).toBe(2);
});

test('silence ends it in time', async () => {
  const server = await serve(hang);
  const waiting = new Client({ url: server.url }).waitFor(ID, { timeoutSeconds: 0.3 });
  await expect(waiting).rejects.toMatchObject({ code: 'timed-out' });
});

test('a held answer has its time on top of a try’s', async () => {
  const server = await serve((response, seen) => {
    setTimeout(() => completed(response, seen), 500);
  });
  const client = new Client({ url: server.url, tryTimeoutSeconds: 0.1, retries: 0 });
  expect(await client.waitFor(ID)).toMatchObject({ status: 'completed' });
});

test('an outage before the first look is an error soon, one in between is sat out', async () => {
  const down = await serve(hangUp);
  const early = new Client({ url: down.url, retries: 1 }).waitFor(ID);
  await expect(early).rejects.toMatchObject({ code: 'unreachable', tries: 2 });

  const server = await serve(pending, hangUp, problem(503, 'database-unavailable'), hangUp, completed);
  const client = new Client({ url: server.url, retries: 1 });
  expect(await client.waitFor(ID)).toMatchObject({ status: 'completed' });
});

test('a job that is gone ends it', async () => {
  const server = await serve(pending, problem(404, 'no-such-job'));
  await expect(new Client({ url: server.url }).waitFor(ID)).rejects.toMatchObject({ code: 'no-such-job' });
});
