import * as after from '../../examples/upgrading/after.ts';
import * as before from '../../examples/upgrading/before.ts';
import * as between from '../../examples/upgrading/between.ts';
import { enqueue } from '../../functions/queue/index.ts';
import { runOn } from '../lifecycle/ground.ts';
import { describe, expect, test } from '../support/fixtures.ts';
import { otherBlocksOf } from './examples.ts';

test('docs/upgrading.md shows files as they are, and a command that test/cli runs', async () => {
  expect(await otherBlocksOf('docs/upgrading.md')).toEqual(['sh status']);
});

describe('its releases, with work pending', () => {
  const results = 'SELECT kind, status, result FROM millrace.jobs ORDER BY id';
  const sent = (...recipients: string[]) => ({ status: 'completed', result: { sent: recipients } });

  test('what an old producer has put in, a worker of the new release sends', async ({ db, databaseUrl }) => {
    await enqueue(db, before.contracts, { kind: 'mail.send', payload: { to: 'ada@example.org' } });
    await enqueue(db, after.contracts, { kind: 'email.send', payload: { recipients: ['ada@example.org'] } });
    await runOn(databaseUrl, after);
    expect((await db.query(results)).rows).toEqual([
      { kind: 'mail.send', ...sent('ada@example.org') },
      { kind: 'email.send', ...sent('ada@example.org') },
    ]);
  });

  test('what a new producer has put in waits for the rollback’s worker, which spends no attempt on it', async ({
    db,
    databaseUrl,
  }) => {
    await enqueue(db, after.contracts, { kind: 'email.send', payload: { recipients: ['ada@example.org'] } });
    await runOn(databaseUrl, before);
    const { rows } = await db.query('SELECT kind, status, attempts FROM millrace.jobs');
    expect(rows).toEqual([{ kind: 'email.send', status: 'pending', attempts: 0 }]);
  });

  test('a release between takes both names', async ({ db, databaseUrl }) => {
    for (const kind of ['mail.send', 'email.send']) {
      await db.query('SELECT millrace.enqueue($1, $2)', [kind, { to: 'ada@example.org' }]);
    }
    expect(await runOn(databaseUrl, between)).toMatchObject({ completed: 2 });
  });

  test('a payload of the new release is retried by the old code, and not buried at once', async ({
    db,
    databaseUrl,
  }) => {
    await db.query(`SELECT millrace.enqueue('email.send', '{"recipients": ["ada@example.org"]}')`);
    expect(await runOn(databaseUrl, between)).toMatchObject({ retried: 1, buried: 0 });
    await db.query('UPDATE millrace.live_jobs SET run_at = now()');
    expect(await runOn(databaseUrl, after)).toMatchObject({ completed: 1 });
  });
});
