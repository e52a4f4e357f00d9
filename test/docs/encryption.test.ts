import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { contracts } from '../../examples/encryption/contracts.ts';
import { enqueue } from '../../functions/queue/index.ts';
import { runOn } from '../lifecycle/ground.ts';
import { expect, test } from '../support/fixtures.ts';
import { blockNamed, blocksOf } from './blocks.ts';
import { otherBlocksOf } from './examples.ts';

const run = promisify(execFile);
const shell = (script: string) =>
  run('bash', ['-euo', 'pipefail', '-c', script], { env: { ...process.env } }).then(({ stdout }) => stdout.trim());
const block = (name: string) => blockNamed(blocksOf('docs/encryption.md'), name);

test('docs/encryption.md shows files as they are, what is executed below, and a construct', async () => {
  expect(await otherBlocksOf('docs/encryption.md')).toEqual(['sh key', 'ts contract-secrets', 'sh rotate']);
});

test('its kind is unreadable where it lies, and is still read when the key is changed', async ({ db, databaseUrl }) => {
  const read: unknown[] = [];
  const processors = {
    'letter.print': async (payload: unknown) => {
      read.push(payload);
      if (read.length === 1) throw new Error('no paper for Grace');
      return { printed: 'for Grace' };
    },
  };
  process.env.PATIENT_KEYS = await shell(block('key'));
  const payload = { patient: 'Grace', text: 'All is well.' };
  const job = { kind: 'letter.print', payload, idempotencyKey: 'letter-7' } as const;
  const id = await enqueue(db, contracts, job);
  expect(await enqueue(db, contracts, job)).toBe(id);
  expect(await runOn(databaseUrl, { contracts, processors })).toMatchObject({ retried: 1 });
  await db.query('UPDATE millrace.live_jobs SET run_at = now()');

  const before = process.env.PATIENT_KEYS;
  process.env.PATIENT_KEYS = await shell(`${block('rotate')}echo "$PATIENT_KEYS"`);
  expect(process.env.PATIENT_KEYS).toMatch(new RegExp(`^\\S{44},${before.replaceAll('+', '\\+')}$`));
  await expect(enqueue(db, contracts, job)).rejects.toMatchObject({ code: 'idempotency_key_reused' });
  expect(await runOn(databaseUrl, { contracts, processors })).toMatchObject({ completed: 1 });
  expect(read).toEqual([payload, payload]);
  const { rows } = await db.query('SELECT payload, result, errors FROM millrace.jobs');
  expect(rows).toMatchObject([{ payload: { $sealed: {} }, result: { $sealed: {} }, errors: [{ message: 'sealed' }] }]);
  expect(JSON.stringify(rows)).not.toMatch(/Grace|well/);
});
