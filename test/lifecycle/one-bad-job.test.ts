import * as z from 'zod';
import { defineJob } from '../../functions/queue/contract.ts';
import { RetryAfter } from '../../functions/queue/errors.ts';
import { type MadeJob, pendingJob, rowOf, statusOf } from '../support/factories.ts';
import { describe, expect, test } from '../support/fixtures.ts';
import { runOn } from './ground.ts';

const kind = 'test.kind';
const contracts = { [kind]: defineJob({ payload: z.object({ n: z.number() }), timeoutSeconds: 20 }) };

/** What the bad one does, and what becomes of it: pending (tried again) or dead. */
const BAD: [string, () => unknown, string, RegExp][] = [
  ['a NUL in its error', () => fail(new Error('a\0b')), 'pending', /a\uFFFDb/],
  ['half a surrogate pair in its error', () => fail(new Error('a\ud800b')), 'pending', /a\uFFFDb/],
  ['10 MB of error', () => fail(new Error('x'.repeat(10_000_000))), 'pending', /x…$/],
  ['null thrown', () => fail(null), 'pending', /threw null/],
  ['undefined thrown', () => fail(undefined), 'pending', /threw undefined/],
  ['a text thrown', () => fail('boom'), 'pending', /threw 'boom'/],
  ['a Proxy thrown that throws on every access', () => fail(hostile()), 'pending', /cannot be read/],
  ['an Error thrown whose getters throw', () => fail(trapped()), 'pending', /no message/],
  ['a RetryAfter thrown that no driver can write', () => fail(unwritable()), 'pending', /retry after 1 s/],
  ['a NUL in its result', () => 'a\0b', 'dead', /NUL/],
  ['half a surrogate pair in its result', () => ({ text: '\udc00' }), 'dead', /surrogate/],
  ['a cycle as its result', cycle, 'dead', /cycle/],
  ['a BigInt as its result', () => 1n, 'dead', /bigint/],
  ['300 KB of result', () => 'x'.repeat(300_000), 'dead', /262144 bytes/],
  ['a result nested 10,000 deep', nested, 'dead', /nested deeper/],
];

describe('one bad job never stops the others', () => {
  for (const [what, bad, status, message] of BAD) {
    test(what, async ({ db, databaseUrl }) => {
      const jobs: MadeJob[] = [];
      for (let n = 0; n < 5; n++) jobs.push(await pendingJob(db, { payload: { n } }));
      // All five are in one claim and end in one settlement.
      const summary = await runOn(databaseUrl, { contracts, processors: { [kind]: ({ n }) => (n === 2 ? bad() : n) } });
      expect(summary).toMatchObject({ claimed: 5, completed: 4, unsettled: 0 });
      for (const [n, { id }] of jobs.entries()) {
        if (n !== 2) expect(await rowOf(db, id)).toMatchObject({ status: 'completed', result: n });
      }
      expect(await rowOf(db, (jobs[2] as MadeJob).id)).toMatchObject({
        status,
        errors: [{ attempt: 1, message: expect.stringMatching(message) }],
      });
    });
  }

  test('a payload that does not fit its contract: tried again, and dead with the reason once its attempts are spent', async ({
    db,
    databaseUrl,
  }) => {
    const bad = await pendingJob(db, { payload: { n: 'one' }, maxAttempts: 2 });
    const good = await pendingJob(db, { payload: { n: 1 } });
    const work = () => runOn(databaseUrl, { contracts, processors: { [kind]: ({ n }) => n } });
    expect(await work()).toMatchObject({ completed: 1, retried: 1 });
    expect(await statusOf(db, good.id)).toBe('completed');
    expect(await rowOf(db, bad.id)).toMatchObject({ status: 'pending', attempts: 1 });
    await db.query('UPDATE millrace.live_jobs SET run_at = clock_timestamp()');
    expect(await work()).toMatchObject({ buried: 1 });
    expect(await rowOf(db, bad.id)).toMatchObject({
      status: 'dead',
      attempts: 2,
      payload: { n: 'one' },
      errors: [{ name: 'PayloadError' }, { name: 'PayloadError', message: expect.stringContaining('/n: ') }],
    });
  });

  test.for([null, 'text', [], { n: null }, JSON.parse('{"__proto__":{"n":1}}')])(
    'a payload put in by SQL that is no object at all: %j',
    async (payload, { db, databaseUrl }) => {
      const bad = await pendingJob(db, { payload });
      const good = await pendingJob(db, { payload: { n: 1 } });
      await runOn(databaseUrl, { contracts, processors: { [kind]: ({ n }) => n } });
      expect(await statusOf(db, good.id)).toBe('completed');
      expect(await rowOf(db, bad.id)).toMatchObject({ status: 'pending', errors: [{ name: 'PayloadError' }] });
    },
  );
});

function fail(thrown: unknown): never {
  throw thrown;
}

function hostile(): object {
  const trap = () => {
    throw new Error('trap');
  };
  return new Proxy({}, { get: trap, has: trap, ownKeys: trap, getPrototypeOf: trap, getOwnPropertyDescriptor: trap });
}

function trapped(): Error {
  const trap = {
    get() {
      throw new Error('trap');
    },
  };
  return Object.defineProperties(new Error('x'), { message: trap, stack: trap, name: trap, cause: trap, code: trap });
}

function unwritable(): Error {
  const toPostgres = () => {
    throw new Error('trap');
  };
  return Object.assign(new RetryAfter(1), { seconds: { toPostgres } });
}

function cycle(): unknown {
  const a: { a?: unknown } = {};
  a.a = a;
  return a;
}

function nested(): unknown {
  let value: unknown = 1;
  for (let depth = 0; depth < 10_000; depth++) value = [value];
  return value;
}
