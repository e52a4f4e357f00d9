import { runInNewContext } from 'node:vm';
import * as z from 'zod';
import { aesGcm } from '../../functions/queue/aes-codec.ts';
import { CodecError } from '../../functions/queue/codec.ts';
import { defineJob } from '../../functions/queue/contract.ts';
import { enqueue, enqueueMany } from '../../functions/queue/enqueue-typed.ts';
import { UnknownKindError, UnstorableError } from '../../functions/queue/errors.ts';
import { PayloadError } from '../../functions/queue/payload.ts';
import { unseal } from '../../functions/queue/unseal.ts';
import { liveRowOf, rowOf, statusOf } from '../support/factories.ts';
import { describe, expect, test } from '../support/fixtures.ts';
import { withSessions } from './sessions.ts';

const contracts = {
  'mail.send': defineJob({
    payload: z.object({ to: z.email(), at: z.string().optional() }),
    maxAttempts: 8,
    queue: 'mail',
  }),
  'count.up': defineJob({ payload: z.coerce.number() }),
};
/** A payload whose keys are names that every object has, or an item of a batch. */
const ODD = '{"__proto__": {"a": 1}, "constructor": 1, "payload": 2, "kind": "other.kind", "": 3}';
const mail = { kind: 'mail.send', payload: { to: 'ann@example.org' } } as const;

describe('enqueue', () => {
  test('a job takes queue and attempts from its contract unless it names its own', async ({ db }) => {
    const id = await enqueue(db, contracts, mail);
    expect(await liveRowOf(db, id)).toMatchObject({ queue: 'mail', max_attempts: 8 });
    const own = await enqueue(db, contracts, { ...mail, queue: 'other', maxAttempts: 1 });
    expect(await liveRowOf(db, own)).toMatchObject({ queue: 'other', max_attempts: 1 });
  });

  test('a job of a transaction that rolls back never was', async ({ db, databaseUrl }) => {
    await withSessions(databaseUrl, async (session) => {
      await session.begin();
      const lost = await enqueue(session, contracts, mail);
      await session.rollback();
      await session.begin();
      const kept = await enqueue(session, contracts, mail);
      expect(await statusOf(db, kept)).toBeUndefined();
      await session.commit();
      expect([await statusOf(db, lost), await statusOf(db, kept)]).toEqual([undefined, 'pending']);
    });
  });

  test('the payload is stored as sent, for the worker to parse', async ({ db }) => {
    const id = await enqueue(db, contracts, { kind: 'count.up', payload: '7' });
    expect(await rowOf(db, id)).toMatchObject({ payload: '7' });
  });

  test('what the schema changes in the payload is not stored', async ({ db }) => {
    const marking = z.unknown().transform((payload) => Object.assign(payload as object, { seen: true }));
    const kinds = { mark: defineJob({ payload: marking }) };
    const id = await enqueue(db, kinds, { kind: 'mark', payload: { n: 1 } });
    const [made] = await enqueueMany(db, kinds, [{ kind: 'mark', payload: { n: 1 } }]);
    for (const stored of [id, made?.id as string]) expect((await rowOf(db, stored))?.payload).toEqual({ n: 1 });
  });

  test.for([
    ['undefined', undefined, null],
    ['null', null, null],
    ['a date', { at: new Date(0), none: undefined }, { at: '1970-01-01T00:00:00.000Z' }],
    ['its own toJSON', { toJSON: () => ({ n: [1] }) }, { n: [1] }],
    ['text that looks like the end of a job', '"}],"payload":1', '"}],"payload":1'],
    ['text that looks like an escape', { text: '\\u0000 \\' }, { text: '\\u0000 \\' }],
    ['keys that objects and jobs have', JSON.parse(ODD), JSON.parse(ODD)],
  ] as const)('%s is stored as JSON has it, alone and in a batch', async ([, payload, stored], { db }) => {
    const kinds = { any: defineJob({ payload: z.unknown() }) };
    const job = { kind: 'any', payload } as const;
    const ids = [await enqueue(db, kinds, job), ...(await enqueueMany(db, kinds, [job, job])).map(({ id }) => id)];
    for (const id of ids) expect((await rowOf(db, id))?.payload).toEqual(stored);
  });

  test('a schema with asynchronous parts is waited for', async ({ db }) => {
    const kinds = { slow: defineJob({ payload: z.number().refine(async (n) => n > 0, 'must be above 0') }) };
    await enqueue(db, kinds, { kind: 'slow', payload: 1 });
    await expect(enqueue(db, kinds, { kind: 'slow', payload: 0 })).rejects.toThrow('payload: must be above 0');
    const mixed = [1, 0].map((payload) => ({ kind: 'slow', payload }) as const);
    const refused = enqueueMany(db, kinds, mixed);
    await expect(refused).rejects.toThrow(PayloadError);
    await expect(refused).rejects.toThrow(/^jobs\[1\]: .*must be above 0/);
    expect((await db.query('SELECT FROM millrace.jobs')).rowCount).toBe(1);
  });

  test('what a schema makes of a payload is waited for, also a promise of another realm', async ({ db }) => {
    const elsewhere = () => runInNewContext(`Promise.reject(new Error('from elsewhere'))`);
    const kinds = { odd: defineJob({ payload: z.unknown().transform(elsewhere) }) };
    await expect(enqueue(db, kinds, { kind: 'odd', payload: 1 })).rejects.toThrow('from elsewhere');
    await expect(enqueueMany(db, kinds, [{ kind: 'odd', payload: 1 }])).rejects.toThrow('from elsewhere');
    expect((await db.query('SELECT FROM millrace.jobs')).rowCount).toBe(0);
  });

  test('what the worker could not read is refused, and the transaction stays usable', async ({ databaseUrl }) => {
    await withSessions(databaseUrl, async (session) => {
      await session.begin();
      const wrong = { kind: 'mail.send', payload: { to: 'nobody' } } as const;
      await expect(enqueue(session, contracts, wrong)).rejects.toThrow(PayloadError);
      const nul = { kind: 'mail.send', payload: { to: 'ann@example.org', at: 'a\0b' } } as const;
      await expect(enqueue(session, contracts, nul)).rejects.toThrow(UnstorableError);
      // @ts-expect-error a Date becomes text on its way, and does not compile either
      const date = enqueue(session, contracts, { kind: 'mail.send', payload: { to: new Date() } });
      await expect(date).rejects.toThrow(PayloadError);
      await enqueue(session, contracts, mail);
      await session.commit();
    });
  });

  test('a kind without a contract does not compile, and says which there are', async ({ db }) => {
    // @ts-expect-error misspelt
    const sent = enqueue(db, contracts, { kind: 'mail.sent', payload: { to: 'ann@example.org' } });
    await expect(sent).rejects.toThrow(UnknownKindError);
    await expect(sent).rejects.toThrow('known kinds: count.up, mail.send');
    // @ts-expect-error a name that every object has is no kind
    await expect(enqueue(db, contracts, { kind: 'constructor', payload: 1 })).rejects.toThrow(UnknownKindError);
  });
});

describe('enqueueMany', () => {
  test('puts jobs of all kinds in, in order, each with what its contract says', async ({ db }) => {
    const jobs = [mail, { kind: 'count.up', payload: 7, maxAttempts: 1 }, { ...mail, queue: 'other' }] as const;
    const made = await enqueueMany(db, contracts, jobs);
    expect(made.map(({ outcome }) => outcome)).toEqual(['created', 'created', 'created']);
    expect(await Promise.all(made.map(({ id }) => rowOf(db, id)))).toMatchObject([
      { kind: 'mail.send', queue: 'mail', max_attempts: 8, payload: mail.payload },
      { kind: 'count.up', queue: 'default', max_attempts: 1, payload: 7 },
      { kind: 'mail.send', queue: 'other', max_attempts: 8 },
    ]);
    expect(await enqueueMany(db, contracts, [])).toEqual([]);
  });

  test('a bad one is named before anything is sent, and the transaction stays usable', async ({ db, databaseUrl }) => {
    await withSessions(databaseUrl, async (session) => {
      await session.begin();
      const wrong = enqueueMany(session, contracts, [mail, { kind: 'mail.send', payload: { to: 'nobody' } }]);
      await expect(wrong).rejects.toThrow(PayloadError);
      await expect(wrong).rejects.toThrow(/^jobs\[1\]: .*\/to: /);
      const nul = enqueueMany(session, contracts, [
        { kind: 'mail.send', payload: { to: 'ann@example.org', at: '\0' } },
      ]);
      await expect(nul).rejects.toThrow(/^jobs\[0\]: \/at holds a NUL/);
      // @ts-expect-error misspelt
      const sent = enqueueMany(session, contracts, [mail, mail, { kind: 'mail.sent', payload: 1 }]);
      await expect(sent).rejects.toThrow(/^jobs\[2\]: kind "mail\.sent" has no contract/);
      await expect(enqueueMany(session, contracts, Array(1001).fill(mail))).rejects.toThrow(RangeError);
      await enqueueMany(session, contracts, [mail]);
      await session.commit();
    });
    expect((await db.query('SELECT FROM millrace.jobs')).rowCount).toBe(1);
  });

  test('a payload that cannot be JSON is refused, and the message names its job', async ({ db }) => {
    const kinds = { any: defineJob({ payload: z.unknown() }) };
    const hostile = { toJSON: () => Promise.reject.call(null) };
    for (const [payload, says] of [
      [hostile, 'toJSON threw'],
      [{ n: 1n }, '/n is a bigint'],
    ] as const) {
      const refused = enqueueMany(db, kinds, [
        { kind: 'any', payload: 1 },
        { kind: 'any', payload },
      ]);
      await expect(refused).rejects.toThrow(UnstorableError);
      await expect(refused).rejects.toThrow(`jobs[1]: `);
      await expect(refused).rejects.toThrow(says);
    }
    expect((await db.query('SELECT FROM millrace.jobs')).rowCount).toBe(0);
  });

  test('keys, request and trace go along', async ({ db }) => {
    const keys = { idempotencyKey: 'i', uniqueKey: 'u', requestId: 'r', traceparent: 't' };
    const [first, again, twin] = await enqueueMany(db, contracts, [
      { ...mail, ...keys },
      { ...mail, ...keys },
      { ...mail, uniqueKey: 'u', uniqueWhile: 'live', replace: ['payload'], payload: { to: 'bob@example.org' } },
    ]);
    expect([again, twin]).toEqual([
      { id: first?.id, outcome: 'replayed', pruned: false },
      { id: first?.id, outcome: 'replaced', pruned: false },
    ]);
    expect(await rowOf(db, first?.id as string)).toMatchObject({
      idempotency_key: 'i',
      unique_key: 'u',
      request_id: 'r',
      traceparent: 't',
      payload: { to: 'bob@example.org' },
    });
  });
});

test('enqueue answers the id of the job that stands for it', async ({ db }) => {
  const first = await enqueue(db, contracts, { ...mail, uniqueKey: 'customer:7' });
  expect(await enqueue(db, contracts, { ...mail, uniqueKey: 'customer:7' })).toBe(first);
  expect(await enqueue(db, contracts, { ...mail, uniqueKey: 'customer:8' })).not.toBe(first);
});

describe('a kind that has changed', () => {
  const changed = {
    'mail.post': defineJob({
      payload: z.object({ to: z.array(z.email()) }),
      queue: 'mail',
      aliases: ['mail.send'],
      upcast: (payload) => {
        const mail = payload as { to: unknown };
        if (!Array.isArray(mail.to)) mail.to = [mail.to];
        return mail;
      },
    }),
  };

  test('is put in by its old name and in its old shape with a cast, and stored as it was given', async ({ db }) => {
    const old = { kind: 'mail.send' as 'mail.post', payload: { to: 'ann@example.org' as never } };
    const id = await enqueue(db, changed, old);
    expect(await rowOf(db, id)).toMatchObject({ kind: 'mail.send', queue: 'mail', payload: { to: 'ann@example.org' } });
  });

  test('what upcast throws is a misfit', async ({ db }) => {
    const wrong = { kind: 'mail.post', payload: null as never } as const;
    await expect(enqueue(db, changed, wrong)).rejects.toThrow(PayloadError);
  });
});

describe('a kind with a codec', () => {
  let keys: string | undefined = 'A'.repeat(43);
  const sealed = { letter: defineJob({ payload: z.looseObject({}), codec: aesGcm(() => keys) }) };
  const letter = (payload: Record<string, unknown>, key?: string) =>
    ({ kind: 'letter', payload, ...(key && { idempotencyKey: key }) }) as const;

  test('is stored sealed, up to the largest payload', async ({ db }) => {
    const payload = { text: 'x'.repeat(262_144 - 11) };
    const row = await rowOf(db, await enqueue(db, sealed, letter(payload)));
    expect(row?.payload).toEqual({ $sealed: { kind: 'letter', data: expect.any(String) } });
    expect(await unseal(sealed, row?.payload)).toEqual(payload);
  });

  test('in a batch its payload is sealed, and those of other kinds stay in clear', async ({ db }) => {
    const kinds = { ...sealed, ...contracts };
    const made = await enqueueMany(db, kinds, [mail, letter({ b: 2, a: 1 }), mail]);
    const [first, second, third] = await Promise.all(made.map(async ({ id }) => (await rowOf(db, id))?.payload));
    expect([first, third]).toEqual([mail.payload, mail.payload]);
    expect(second).toEqual({ $sealed: { kind: 'letter', data: expect.any(String) } });
    expect(await unseal(kinds, second)).toEqual({ a: 1, b: 2 });
  });

  test('an idempotency key knows equal payloads by what is stored', async ({ db }) => {
    const first = await enqueue(db, sealed, letter({ a: 1, b: 2 }, 'k'));
    expect(await enqueue(db, sealed, letter({ b: 2, a: 1 }, 'k'))).toBe(first);
    await expect(enqueue(db, sealed, letter({ a: 1, b: 3 }, 'k'))).rejects.toThrow('k');
  });

  test('without a key nothing is sent, and the transaction stays usable', async ({ db, databaseUrl }) => {
    keys = undefined;
    try {
      await withSessions(databaseUrl, async (session) => {
        await session.begin();
        await expect(enqueueMany(session, sealed, [letter({})])).rejects.toThrow(CodecError);
        await session.commit();
      });
    } finally {
      keys = 'A'.repeat(43);
    }
    expect((await db.query('SELECT FROM millrace.jobs')).rowCount).toBe(0);
  });

  test('a payload that is sealed already is refused', async ({ db }) => {
    const wrong = letter({ $sealed: { kind: 'letter', data: 'AAAA' } });
    await expect(enqueue(db, sealed, wrong)).rejects.toThrow(
      'the payload is or holds a sealed value: enqueue it in clear',
    );
  });
});
