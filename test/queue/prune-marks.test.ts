import { openPosition } from '../../functions/queue/marks.ts';
import { pruneMarks } from '../../functions/queue/prune-marks.ts';
import { expect, test } from '../support/fixtures.ts';
import { KINDS } from './claiming.ts';

test('marks that nobody has used for a day go, and whoever comes back makes new ones', async ({ db }) => {
  await openPosition(db, 'left', KINDS);
  await db.query(`UPDATE millrace.claim_marks SET rescanned_at = now() - interval '25 hours'`);
  await openPosition(db, 'used', KINDS);
  await db.query(
    `UPDATE millrace.claim_marks SET rescanned_at = rescanned_at - interval '23 hours' WHERE queue = 'used'`,
  );
  expect(await pruneMarks(db)).toBe(1);
  const { rows } = await db.query('SELECT queue FROM millrace.claim_marks');
  expect(rows).toEqual([{ queue: 'used' }]);
  expect(await openPosition(db, 'left', KINDS)).toMatchObject({ marks: Array(11).fill(null) });
});

test('the newest stay however old they are: they tell when a worker was last seen', async ({ db }) => {
  await openPosition(db, 'last', KINDS);
  await db.query(`UPDATE millrace.claim_marks SET rescanned_at = now() - interval '9 days'`);
  expect(await pruneMarks(db)).toBe(0);
});
