import { enqueue } from 'millrace/queue';
import pg from 'pg';
import { contracts } from './contracts.ts';

const client = new pg.Client({ connectionString: process.env.DATABASE_URL });
await client.connect();
try {
  await client.query('BEGIN');
  await client.query('INSERT INTO customers (name) VALUES ($1)', ['Ada']);
  const id = await enqueue(client, contracts, { kind: 'hello.greet', payload: { name: 'Ada' } });
  // In SQL, where nobody checks the payload before the worker:
  await client.query(`SELECT millrace.enqueue('hello.greet', $1)`, [{ name: 'Ada' }]);
  await client.query('COMMIT');
  console.log(`job ${id}`);
} finally {
  // Without the commit, this is the rollback.
  await client.end();
}
