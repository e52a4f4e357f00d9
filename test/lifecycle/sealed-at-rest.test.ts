import { randomBytes } from 'node:crypto';
import type pg from 'pg';
import * as z from 'zod';
import { aesGcm } from '../../functions/queue/aes-codec.ts';
import type { Codec } from '../../functions/queue/codec.ts';
import type { Context } from '../../functions/queue/context.ts';
import { defineJob } from '../../functions/queue/contract.ts';
import { enqueue } from '../../functions/queue/enqueue-typed.ts';
import { PermanentError } from '../../functions/queue/errors.ts';
import { reap } from '../../functions/queue/reap.ts';
import { redrive } from '../../functions/queue/redrive.ts';
import { unseal } from '../../functions/queue/unseal.ts';
import { claimSome } from '../queue/claiming.ts';
import { dump } from '../support/dump.ts';
import { expireLease, rowOf } from '../support/factories.ts';
import { expect, test } from '../support/fixtures.ts';
import { recorder, runOn } from './ground.ts';

/** Marks of what must not be legible, and of what may. */
const SECRET = `secret-${randomBytes(9).toString('hex')}`;
const CLEAR = `clear-${randomBytes(9).toString('hex')}`;

let keys = [randomBytes(32).toString('base64')];
const codec = aesGcm(() => keys);
const letter = z.object({ text: z.string(), way: z.enum(['return', 'commit', 'fail', 'die']) });
const contracts = {
  letter: defineJob({ payload: letter, codec, maxAttempts: 3, onDead: 'mourn' }),
  card: defineJob({ payload: letter, maxAttempts: 3, onDead: 'mourn' }),
  mourn: defineJob({ payload: z.looseObject({ payload: letter, error: z.looseObject({ message: z.string() }) }) }),
};

const mourned: unknown[] = [];

async function post({ text, way }: z.infer<typeof letter>, ctx: Context): Promise<unknown> {
  if (way === 'return') return { said: text };
  if (way === 'commit') return ctx.transaction(async () => ({ said: text }));
  const error = new TypeError(`no such address: ${text}`, { cause: new Error(`cause: ${text}`) });
  error.stack = `${error.message}\n    at deliver (${text}.ts:1:2)`;
  throw way === 'die'
    ? Object.assign(new PermanentError(error.message, { cause: error }), { stack: error.stack })
    : error;
}

const events = recorder();
const work = (url: string) =>
  runOn(url, {
    contracts,
    processors: {
      letter: post,
      card: post,
      mourn: ({ payload, error }) => {
        mourned.push({ payload, message: error.message });
        // Its kind has no codec, and what it was told was sealed.
        return { mourns: payload.text };
      },
    },
    emit: events.emit,
  });

/** One job for each way that a job can go. */
async function goAllWays(
  db: pg.Pool,
  url: string,
  kind: 'letter' | 'card',
  text: string,
): Promise<Record<string, string>> {
  const put = (way: z.infer<typeof letter>['way'], more = {}) =>
    enqueue(db, contracts, { kind, payload: { text, way }, ...more });
  const reaped = await put('return', { maxAttempts: 1, idempotencyKey: `${kind} ${keys.length}` });
  await claimSome(db, { kinds: new Map([[kind, 30]]) });
  await expireLease(db, reaped);
  await reap(db, { limit: 10, contracts });
  const ways = {
    reaped,
    completed: await put('return'),
    committed: await put('commit'),
    retried: await put('fail'),
    buried: await put('die'),
    redriven: await put('die'),
  };
  // Those that died have put in a job each, which the second run finds at the latest.
  await work(url);
  await redrive(db, ways.redriven);
  await work(url);
  await put('return', { delaySeconds: 3600 });
  return ways;
}

/** As text, and in base64 wherever it may begin in what was encoded. */
function traces(mark: string): string[] {
  const shifted = [0, 1, 2].map((shift) => Buffer.from(' '.repeat(shift) + mark).toString('base64'));
  return [mark, ...shifted.map((text) => text.slice(4, -4)), Buffer.from(mark).toString('hex')];
}

async function expectSealed(db: pg.Pool, url: string): Promise<void> {
  const text = await dump(url, db);
  for (const trace of traces(SECRET)) expect(text).not.toContain(trace);
  // What a kind without a codec leaves is there, each part of it, so this would see a leak.
  for (const part of [
    `"text": "${CLEAR}"`,
    `"said": "${CLEAR}"`,
    `no such address: ${CLEAR}`,
    `cause: ${CLEAR}`,
    `${CLEAR}.ts:1:2`,
  ]) {
    expect(text.replaceAll('""', '"').replaceAll('\\"', '"')).toContain(part);
  }
}

test('whatever becomes of a job, a dump of the database shows nothing of it; readers with the key see all', async ({
  db,
  databaseUrl,
}) => {
  await goAllWays(db, databaseUrl, 'card', CLEAR);
  const first = await goAllWays(db, databaseUrl, 'letter', SECRET);
  await expectSealed(db, databaseUrl);

  const states = {
    reaped: 'dead',
    completed: 'completed',
    committed: 'completed',
    retried: 'pending',
    buried: 'dead',
    redriven: 'dead',
  };
  const seen = async (name: string) =>
    (await unseal(contracts, await rowOf(db, first[name] as string))) as Record<string, unknown>;
  for (const [name, status] of Object.entries(states)) {
    expect(await seen(name)).toMatchObject({ status, payload: { text: SECRET } });
  }
  for (const name of ['completed', 'committed']) expect((await seen(name)).result).toEqual({ said: SECRET });
  const failed = {
    message: `no such address: ${SECRET}; cause: cause: ${SECRET}`,
    stack: `    at deliver (${SECRET}.ts:1:2)`,
  };
  expect((await seen('retried')).errors).toMatchObject([{ name: 'TypeError', ...failed }]);
  expect((await seen('redriven')).errors).toMatchObject([{ name: 'PermanentError' }, { name: 'PermanentError' }]);
  expect((await seen('reaped')).errors).toMatchObject([
    { name: 'LeaseExpired', message: expect.stringMatching(/^the lease ran out/) },
  ]);

  // Who is told of a death is told what died: of the four deaths of each kind.
  const died = mourned as { payload: { text: string }; message: string }[];
  const ofLetters = died.filter(({ payload }) => payload.text === SECRET);
  expect(ofLetters).toHaveLength(4);
  expect(ofLetters.filter(({ message }) => message.includes(SECRET))).toHaveLength(3);
  // Logs hold what events say.
  expect(events.named('job.buried').length).toBeGreaterThan(0);
  expect(JSON.stringify([...events.named('job.buried'), ...events.named('job.retried')])).not.toContain(SECRET);
});

test('a new key before the old one: what waits under the old is done, what comes is sealed by the new', async ({
  db,
  databaseUrl,
}) => {
  const old = keys;
  const waiting = await enqueue(db, contracts, { kind: 'letter', payload: { text: SECRET, way: 'return' } });
  keys = [randomBytes(32).toString('hex'), ...old];
  try {
    await goAllWays(db, databaseUrl, 'card', CLEAR);
    const fresh = await goAllWays(db, databaseUrl, 'letter', SECRET);
    await expectSealed(db, databaseUrl);
    const results = [await rowOf(db, waiting), await rowOf(db, fresh.completed as string)].map((row) => row?.result);
    expect(await unseal(contracts, results)).toEqual([{ said: SECRET }, { said: SECRET }]);
    // The old key has not sealed the new result, though the payload was under it.
    keys = old;
    await expect(unseal(contracts, results)).rejects.toThrow(/sealed with the key [0-9a-f]{8}, and aesGcm has/);
  } finally {
    keys = old;
  }
});

test('without the key nothing runs, nothing leaks, and nothing is lost', async ({ db, databaseUrl }) => {
  const old = keys;
  const id = await enqueue(db, contracts, { kind: 'letter', payload: { text: SECRET, way: 'return' } });
  keys = [];
  try {
    expect(await work(databaseUrl)).toMatchObject({ retried: 1 });
    expect((await rowOf(db, id))?.errors).toMatchObject([
      {
        name: 'PayloadError',
        message: expect.stringMatching(
          /^message and stack are left out, since they could not be sealed: .*given no key/,
        ),
      },
    ]);
  } finally {
    keys = old;
  }
  await db.query('UPDATE millrace.live_jobs SET run_at = now()');
  expect(await work(databaseUrl)).toMatchObject({ completed: 1 });
});

test('a result that cannot be sealed: the attempt fails, its writes roll back, and nothing of it is kept', async ({
  db,
  databaseUrl,
}) => {
  await db.query('CREATE TABLE IF NOT EXISTS public.effects (job uuid)');
  const choosy: Codec = {
    encode: (plain, about) => {
      const text = Buffer.from(plain).toString();
      if (text.includes('said')) throw new TypeError(`cannot encode ${SECRET}`);
      return codec.encode(plain, about);
    },
    decode: codec.decode,
  };
  const own = { letter: defineJob({ payload: letter, codec: choosy }) };
  const put = (way: 'return' | 'commit') => enqueue(db, own, { kind: 'letter', payload: { text: SECRET, way } });
  const jobs = [await put('return'), await put('commit')] as const;
  const summary = await runOn(databaseUrl, {
    contracts: own,
    processors: {
      letter: ({ text, way }, { job, transaction }) => {
        if (way === 'return') return { said: text };
        return transaction(async (tx) => {
          await tx.query('INSERT INTO public.effects VALUES ($1)', [job.id]);
          return { said: text };
        });
      },
    },
  });
  expect(summary).toMatchObject({ retried: 2, completed: 0 });
  const why = 'the codec of "letter" threw TypeError';
  const errors = (id: string) => rowOf(db, id).then((row) => unseal(own, row?.errors));
  const failed = { attempt: 1, name: 'CodecError' };
  expect(await errors(jobs[0])).toEqual([
    { ...failed, failed_at: expect.any(String), message: `the result could not be sealed: ${why}` },
  ]);
  // The second has the message that the codec threw as its cause: in the error's own envelope, which is sealed.
  expect(await errors(jobs[1])).toMatchObject([{ ...failed, message: expect.stringContaining(`${why}; cause: `) }]);
  expect((await db.query('SELECT FROM public.effects')).rowCount).toBe(0);
  const text = await dump(databaseUrl, db);
  for (const trace of traces(SECRET)) expect(text).not.toContain(trace);
});
