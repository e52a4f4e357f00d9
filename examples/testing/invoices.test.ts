import assert from 'node:assert/strict';
import { after, afterEach, beforeEach, test } from 'node:test';
import { assertEnqueued, drain, enqueued, runProcessor } from 'millrace/testing';
import pg from 'pg';
import { contracts } from './contracts.ts';
import { close } from './invoices.ts';
import { processorsWith } from './processors.ts';

// Here and not in a hook: without a database nothing runs, and the error says why.
const client = new pg.Client({ connectionString: process.env.DATABASE_URL });
await client.connect();
const mails: string[] = [];
const processors = processorsWith(async (to) => void mails.push(to));

after(() => client.end());
beforeEach(async () => {
  mails.length = 0;
  await client.query('BEGIN');
  await client.query(`INSERT INTO invoices (id, email) VALUES (7, 'ada@example.org')`);
});
// Whatever a test has done: the rows, the jobs and what those wrote are gone.
afterEach(() => client.query('ROLLBACK'));

test('closing an invoice sends it', async () => {
  await close(client, 7);
  const job = await assertEnqueued(client, contracts, { kind: 'invoice.send', payload: { invoiceId: 7 } });
  assert.equal(job.subject, 'invoice:7');
});

test('a job sends one mail and puts the reminder in', async () => {
  const run = await runProcessor(contracts, processors, 'invoice.send', { invoiceId: 7 }, { client });
  assert.equal(run.verdict, 'completed');
  assert.deepEqual(run.result, { to: 'ada@example.org' });
  assert.deepEqual(run.progress, [{ fraction: 0.5, note: 'found' }]);
  assert.deepEqual((await client.query('SELECT sent FROM invoices WHERE id = 7')).rows, [{ sent: true }]);
  await assertEnqueued(client, contracts, { kind: 'invoice.remind' });
});

test('an invoice that is not there fails for good', async () => {
  const run = await runProcessor(contracts, processors, 'invoice.send', { invoiceId: 8 }, { client });
  assert.equal(run.verdict, 'buried');
  assert.equal(run.error?.message, 'there is no invoice 8');
  assert.deepEqual(await enqueued(client), []);
});

test('the whole way, fourteen days in no time', async () => {
  await close(client, 7);
  const now = await drain(client, { contracts, processors });
  assert.deepEqual([now.completed, mails], [1, ['ada@example.org']]);
  const later = await drain(client, { contracts, processors, future: true });
  assert.deepEqual([later.completed, mails.length], [1, 2]);
  assert.equal(later.attempts[0]?.log[0]?.message, 'reminded');
});

test('mail that is down is tried three times', async () => {
  const down = processorsWith(() => Promise.reject(new Error('mail is down')));
  await close(client, 7);
  const { retried, buried, attempts } = await drain(client, { contracts, processors: down, retries: true });
  assert.deepEqual([retried, buried, attempts.at(-1)?.error?.message], [2, 1, 'mail is down']);
  // ctx.transaction has undone what the attempts had written.
  assert.deepEqual((await client.query('SELECT sent FROM invoices WHERE id = 7')).rows, [{ sent: false }]);
});
