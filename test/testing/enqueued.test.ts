import { AssertionError } from 'node:assert';
import { enqueue, UnknownKindError } from '../../functions/queue/index.ts';
import { assertEnqueued, enqueued, NoTransactionError } from '../../testing/index.ts';
import { pendingJob } from '../support/factories.ts';
import { expect, test } from '../support/fixtures.ts';
import { contracts, rolledBack } from './ground.ts';

test('what was put in since the transaction began, oldest first', async ({ db }) => {
  await pendingJob(db, { kind: 'invoice.send', payload: { id: 1 } });
  await rolledBack(db, async (client) => {
    expect(await enqueued(client)).toEqual([]);
    const id = await enqueue(client, contracts, {
      kind: 'invoice.send',
      payload: { id: 7 },
      subject: 'invoice:7',
      priority: 2,
    });
    await client.query('SAVEPOINT mine');
    await enqueue(client, contracts, { kind: 'receipt.print', payload: { invoice: 7 }, delaySeconds: 60 });
    expect(await enqueued(client)).toMatchObject([
      {
        id,
        kind: 'invoice.send',
        payload: { id: 7 },
        queue: 'default',
        status: 'pending',
        priority: 2,
        subject: 'invoice:7',
        maxAttempts: 3,
        runAt: expect.stringMatching(/^\d{4}-.*\.\d{6}Z$/),
        createdAt: expect.stringMatching(/^\d{4}-.*\.\d{6}Z$/),
        idempotencyKey: null,
        uniqueKey: null,
        requestId: null,
        traceparent: null,
      },
      { kind: 'receipt.print', queue: 'printer' },
    ]);
    expect(await enqueued(client, { kind: 'receipt.print' })).toHaveLength(1);
    expect(await enqueued(client, { payload: { id: 7 }, subject: 'invoice:7' })).toMatchObject([{ id }]);
    expect(await enqueued(client, { payload: { id: 8 } })).toEqual([]);
    await client.query('ROLLBACK TO mine');
    expect(await enqueued(client)).toHaveLength(1);
  });
});

test('without a transaction there is no answer', async ({ db }) => {
  await expect(enqueued(db)).rejects.toThrow(NoTransactionError);
});

test('assertEnqueued resolves the job that fits', async ({ db }) => {
  await rolledBack(db, async (client) => {
    await enqueue(client, contracts, { kind: 'invoice.send', payload: { id: 6 } });
    const payload = { id: 7, lines: ['tea', 'scones'] };
    const id = await enqueue(client, contracts, { kind: 'invoice.send', payload, subject: 'invoice:7' });
    const job = await assertEnqueued(client, contracts, { kind: 'invoice.send', payload: { id: 7 } });
    expect(job).toMatchObject({ id, payload, subject: 'invoice:7' });
    // Typed by the contract.
    const lines: string[] | undefined = job.payload.lines;
    expect(lines).toEqual(['tea', 'scones']);
    await assertEnqueued(client, contracts, { kind: 'invoice.send', subject: 'invoice:7', status: 'pending' });
  });
});

test('assertEnqueued says what there is instead', async ({ db }) => {
  await rolledBack(db, async (client) => {
    const failure = (wanted: Parameters<typeof assertEnqueued<typeof contracts, 'invoice.send'>>[2]) =>
      assertEnqueued(client, contracts, wanted).then(
        () => expect.fail('nothing was thrown'),
        (error: unknown) => {
          expect(error).toBeInstanceOf(AssertionError);
          return error as AssertionError;
        },
      );
    expect((await failure({ kind: 'invoice.send' })).message).toMatch(
      /no job \{"kind":"invoice.send"\} .* no other either$/,
    );

    await enqueue(client, contracts, { kind: 'receipt.print', payload: { invoice: 7 } });
    expect((await failure({ kind: 'invoice.send' })).message).toMatch(/; of other kinds: receipt.print$/);

    const id = await enqueue(client, contracts, { kind: 'invoice.send', payload: { id: 7, lines: ['tea'] } });
    const error = await failure({
      kind: 'invoice.send',
      payload: { id: 8, lines: ['tea', 'milk'] },
      subject: 'invoice:8',
    });
    expect(error.message).toBe(
      [
        'no job {"kind":"invoice.send","payload":{"id":8,"lines":["tea","milk"]},"subject":"invoice:8"} was enqueued in this transaction; of this kind:',
        `  ${id}: payload.id is 7, wanted 8; payload.lines has 1 items, wanted 2; payload.lines.1 is missing, wanted "milk"; subject is null, wanted "invoice:8"`,
      ].join('\n'),
    );
    expect(error).toMatchObject({ operator: 'assertEnqueued', actual: [{ id }], expected: { subject: 'invoice:8' } });
  });
});

test('assertEnqueued reads the payload by the contract, as the worker will', async ({ db }) => {
  await rolledBack(db, async (client) => {
    await client.query(`SELECT millrace.enqueue('invoice.send', '{"id": "seven"}')`);
    await expect(assertEnqueued(client, contracts, { kind: 'invoice.send' })).rejects.toThrow(
      /was enqueued, but the payload does not fit its contract: \/id/,
    );
  });
});

test('assertEnqueued knows only kinds with a contract', async ({ db }) => {
  await rolledBack(db, async (client) => {
    await expect(assertEnqueued(client, contracts, { kind: 'nope' as never })).rejects.toThrow(UnknownKindError);
  });
});
