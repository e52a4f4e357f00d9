import { PassThrough } from 'node:stream';
import { confirm } from '../../cli/confirm.ts';
import { logged } from '../queue/operator-log.ts';
import { deadJob, finishedJob, pendingJob, statusOf } from '../support/factories.ts';
import { ACTOR, describe, expect, test, WAYS } from './ways.ts';

describe.for(WAYS)('millrace erase over %s', (way) => {
  test('takes ended jobs out, when somebody has agreed', async ({ db, act }) => {
    const jobs = [await finishedJob(db, { payload: { name: 'Ada' } }), await deadJob(db)].map(({ id }) => id);
    const unasked = await act(way, 'erase', ...jobs);
    expect(unasked).toMatchObject({ code: 2, stdout: '' });
    expect(unasked.stderr).toMatch(/^Erase 2 jobs of \S+ with payload, result and errors, for good\? .*add --yes\.\n$/);
    expect((await db.query('SELECT FROM millrace.jobs')).rowCount).toBe(2);
    expect(await act(way, 'erase', ...jobs, '--yes')).toEqual({
      code: 0,
      stdout: jobs.map((id) => `${id}\terased\n`).join(''),
      stderr: '',
    });
    expect((await db.query('SELECT FROM millrace.jobs')).rowCount).toBe(0);
    expect((await db.query('SELECT FROM millrace.payloads')).rowCount).toBe(0);
    expect(await logged(db)).toMatchObject(jobs.map((id) => ({ actor: ACTOR[way], action: 'erase', target: { id } })));
  });

  test('refuses one that has not ended', async ({ db, act }) => {
    const [pending, done] = [await pendingJob(db), await finishedJob(db)];
    const { code, stdout, stderr } = await act(way, 'erase', pending.id, done.id, '--yes');
    expect(code).toBe(3);
    expect(stdout).toBe(`${done.id}\terased\n`);
    expect(stderr).toContain(
      `${pending.id}: Only jobs that have ended can be erased; cancel it first; this one is pending.`,
    );
    expect(await statusOf(db, pending.id)).toBe('pending');
  });
});

describe('who is asked', () => {
  const person = () => {
    const [input, output] = [new PassThrough(), new PassThrough()];
    return { canAsk: true, input, output };
  };

  test.for(['y', 'Y', 'yes'])('agrees by %j', async (answer) => {
    const at = person();
    const asked = confirm('Erase it?', false, at);
    at.input.write(`${answer}\n`);
    await asked;
    expect(String(at.output.read())).toContain('Erase it? [y/N] ');
  });

  test.for(['n', '', 'yeah', 'erase'])('does not by %j, and nothing is done', async (answer) => {
    const at = person();
    const asked = confirm('Erase it?', false, at);
    at.input.write(`${answer}\n`);
    await expect(asked).rejects.toMatchObject({ message: 'Nothing was done.', exitCode: 1 });
  });

  test('nor by going away', async () => {
    const at = person();
    const asked = confirm('Erase it?', false, at);
    at.input.end();
    await expect(asked).rejects.toMatchObject({ message: 'Nothing was done.', exitCode: 130 });
    // What is said next stands on a line of its own.
    expect(String(at.output.read())).toMatch(/\n$/);
  });
});
