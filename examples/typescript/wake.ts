import { enqueue } from 'millrace/queue';
import { wake } from 'millrace/wake';
import pg from 'pg';
import { contracts } from './contracts.ts';

const client = new pg.Client({ connectionString: process.env.DATABASE_URL });
await client.connect();
try {
  await client.query('BEGIN');
  await client.query('INSERT INTO customers (name) VALUES ($1)', ['Ada']);
  const id = await enqueue(client, contracts, { kind: 'hello.greet', payload: { name: 'Ada' } });
  await client.query('COMMIT');
  // After the commit: a worker that starts sooner would find nothing, and leave.
  const { started, error } = await wake(client);
  if (error !== undefined) console.warn('the next tick finds it', error);
  console.log(`job ${id}, started: ${started.join(', ') || 'nobody'}`);
} finally {
  // Without the commit, this is the rollback.
  await client.end();
}
