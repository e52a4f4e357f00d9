import { openPool } from '../../support/database.ts';
import { KIND, millrace } from './millrace.ts';
import type { Producer, System } from './system.ts';

/** Put in by the SQL functions, as from any language: nothing is checked against a contract before. */
export const millraceSql: System = {
  ...millrace,
  name: 'Millrace, SQL',
  settings: 'millrace.enqueue and millrace.enqueue_many',
  producer,
};

async function producer(databaseUrl: string, connections: number): Promise<Producer> {
  const pool = openPool(databaseUrl, connections);
  return {
    enqueue: async (payload) => {
      await pool.query('SELECT millrace.enqueue($1, $2::jsonb)', [KIND, JSON.stringify(payload)]);
    },
    enqueueMany: async (payloads) => {
      const jobs = JSON.stringify(payloads.map((payload) => ({ kind: KIND, payload })));
      await pool.query('SELECT * FROM millrace.enqueue_many($1::jsonb)', [jobs]);
    },
    close: () => pool.end(),
  };
}
