import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type pg from 'pg';
import { contracts, schedules } from '../../examples/recurring/contracts.ts';
import { processors } from '../../examples/recurring/processors.ts';
import { checkSchedules } from '../../functions/queue/check-schedules.ts';
import { fireTimes } from '../../functions/queue/fire-times.ts';
import { runOn } from '../lifecycle/ground.ts';
import { describe, expect, test } from '../support/fixtures.ts';
import { blockNamed, blocksOf, root } from './blocks.ts';
import { otherBlocksOf } from './examples.ts';
import { rowsBelow } from './tables.ts';

const run = promisify(execFile);
const blocks = blocksOf('docs/recurring.md');
const page = await readFile(join(root, 'docs/recurring.md'), 'utf8');
const HOUR_MS = 3_600_000;

test('docs/recurring.md shows files as they are, and what is executed below', async () => {
  expect(await otherBlocksOf('docs/recurring.md')).toEqual(['sql tables', 'sh schedules', 'sql state']);
  expect(() => checkSchedules(contracts, schedules)).not.toThrow();
});

describe('the two nights on which clocks change', () => {
  const nights = ['2027-03-28', '2026-10-25'];

  test.each(rowsBelow(page, '| pattern '))('%s', (cron, ...stated) => {
    const { between } = fireTimes({ cron: cron.replaceAll('`', ''), every: undefined, zone: 'Europe/Berlin' });
    const told = nights.map((night) => {
      const times = between(Date.parse(`${night}T00:00Z`) - 1, Date.parse(`${night}T02:30Z`), 100);
      return times.map((at) => new Date(at).toISOString().slice(11, 16)).join(', ') || 'none';
    });
    expect(told).toEqual(stated.slice(0, 2));
  });
});

describe('its examples', () => {
  /** It stays a little, for what jobs put in. */
  const recur = (url: string) => runOn(url, { contracts, processors, schedules, lingerSeconds: 0.5 });

  test('bill each hour that was missed, and remind once', { timeout: 60_000 }, async ({ own }) => {
    await own.pool.query(blockNamed(blocks, 'tables'));
    await recur(own.url);
    const hours = await hoursAgo(own.pool, 3);
    await own.pool.query(`INSERT INTO usage SELECT h, 100 FROM unnest($1::timestamptz[]) h`, [hours]);
    await own.pool.query(`INSERT INTO reminders VALUES ('Ada', now() - interval '1 minute', '1 day')`);
    await own.pool.query(`UPDATE millrace.schedules SET fired_until = $1::timestamptz + interval '30 minutes'`, [
      hours[0],
    ]);
    await recur(own.url);
    const bills = async () =>
      (await own.pool.query('SELECT hour, cents FROM bills WHERE cents > 0 ORDER BY hour')).rows;
    expect(await bills()).toEqual(hours.map((hour) => ({ hour, cents: 100 })));
    const reminded = `SELECT kind, payload, status FROM millrace.jobs WHERE kind = 'reminder.send'`;
    expect((await own.pool.query(reminded)).rows).toEqual([
      { kind: 'reminder.send', payload: { customer: 'Ada' }, status: 'completed' },
    ]);

    await recur(own.url);
    const { rows } = await own.pool.query(
      `SELECT schedule_name, count(*)::int AS jobs, count(DISTINCT request_id)::int AS times
       FROM millrace.finished_jobs WHERE schedule_name IS NOT NULL GROUP BY schedule_name`,
    );
    // Of 150 missed minutes the latest; a minute may have begun since.
    const [reminding, billing] = ['reminders.due', 'usage.hourly'].map((n) => rows.find((r) => r.schedule_name === n));
    expect(reminding.jobs).toBeLessThan(5);
    expect(billing.jobs).toBeGreaterThanOrEqual(hours.length);
    for (const { jobs, times } of rows) expect(jobs).toBe(times);
  });

  test('are listed, paused, fired by hand', { timeout: 60_000 }, async ({ own }) => {
    await own.pool.query(blockNamed(blocks, 'tables'));
    await recur(own.url);
    const commands = blockNamed(blocks, 'schedules').replaceAll('npx millrace', `node ${root}bin/millrace.ts`);
    const env = { PATH: process.env.PATH, DATABASE_URL: own.url };
    const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', commands], { env });
    for (const { name } of schedules) expect(stdout).toContain(name);
    const { rows } = await own.pool.query(`SELECT payload, status FROM millrace.jobs WHERE kind = 'report.send'`);
    expect(rows).toEqual([{ payload: { team: 'sales' }, status: 'pending' }]);
    const state = (await own.pool.query(blockNamed(blocks, 'state'))).rows;
    expect(state).toHaveLength(schedules.length);
    expect(state).toContainEqual(
      expect.objectContaining({ name: 'report.morning', times: '0 7 * * 1-5', zone: 'Europe/Berlin' }),
    );
    const log = await own.pool.query('SELECT action FROM millrace.operator_log ORDER BY at');
    expect(log.rows.map(({ action }) => action)).toEqual(['pause', 'fire', 'resume']);
  });
});

/** The beginnings of the last whole hours, the oldest first. */
async function hoursAgo(db: pg.Pool, count: number): Promise<Date[]> {
  const { rows } = await db.query<{ hour: Date }>(`SELECT date_trunc('hour', now(), 'UTC') AS hour`);
  const now = (rows[0] as { hour: Date }).hour.getTime();
  return Array.from({ length: count }, (_, n) => new Date(now - (count - n) * HOUR_MS));
}
