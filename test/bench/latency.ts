/**
 * How long after the answer to its POST an idle runtime starts a job: `node test/bench/latency.ts [--quick]`.
 * Uses the runtime that is up, or starts one. Goal: p50 at most 60 ms. A job may start before its answer is read: below 0.
 */
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connector } from '../../functions/lambda/connect.ts';
import { findOrStart } from '../../local/demo/host.ts';

const JOBS = process.argv.includes('--quick') ? 10 : 300;
const GOAL_MS = 60;

const host = await findOrStart(resolve('.millrace'), { PORT: '0' }, new AbortController().signal);
try {
  const { url, databaseUrl } = await host.info();
  // The first jobs find cold caches everywhere.
  for (let n = 0; n < 5; n += 1) await answered(url);
  await sleep(1000);
  const sent: { id: string; at: number }[] = [];
  for (let n = 0; n < JOBS; n += 1) {
    sent.push(await answered(url));
    // Longer than a poll and out of step with it, so that the worker is idle and met at any moment of its pause.
    await sleep(120 + Math.random() * 200);
  }
  await sleep(500);
  const starts = await startsOf(
    databaseUrl,
    sent.map(({ id }) => id),
  );
  const ms = sent.map(({ id, at }) => (starts.get(id) ?? Number.NaN) - at).sort((a, b) => a - b);
  const at = (share: number) => (ms[Math.min(ms.length - 1, Math.floor(ms.length * share))] as number).toFixed(0);
  console.log(
    `POST answered to processor start, idle, ${JOBS} jobs: p50 ${at(0.5)} ms, p90 ${at(0.9)} ms, p99 ${at(0.99)} ms, least ${at(0)} ms, most ${at(1)} ms (goal: p50 ≤ ${GOAL_MS} ms)`,
  );
} finally {
  await host.stop();
}

async function answered(url: string): Promise<{ id: string; at: number }> {
  const response = await fetch(`${url}/jobs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ kind: 'hello.greet', payload: { name: 'latency' } }),
  });
  const at = performance.timeOrigin + performance.now();
  const { id } = (await response.json()) as { id?: string };
  if (id === undefined) throw new Error(`POST ${url}/jobs answered ${response.status}`);
  return { id, at };
}

async function startsOf(databaseUrl: string, ids: string[]): Promise<Map<string, number>> {
  const client = await connector(
    { DATABASE_URL: databaseUrl, DATABASE_CA_FILE: process.env.DATABASE_CA_FILE },
    'latency',
  )();
  const { rows } = await client
    .query<{ id: string; at: string | null }>(
      `SELECT id, result ->> 'at' AS at
       FROM millrace.jobs
       WHERE id = ANY ($1::uuid[])`,
      [ids],
    )
    .finally(() => client.end());
  return new Map(rows.flatMap(({ id, at }) => (at === null ? [] : [[id, Date.parse(at)] as const])));
}
