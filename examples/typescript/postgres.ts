import { type Db, enqueue } from 'millrace/queue';
import postgres from 'postgres';
import { contracts } from './contracts.ts';

const sql = postgres(process.env.DATABASE_URL ?? '');

try {
  const id = await sql.begin(async (tx) => {
    await tx`INSERT INTO customers (name) VALUES (${'Ada'})`;
    // In SQL, where nobody checks the payload before the worker:
    await tx`SELECT millrace.enqueue('hello.greet', ${tx.json({ name: 'Ada' })})`;
    return enqueue(dbOf(tx), contracts, { kind: 'hello.greet', payload: { name: 'Ada' } });
  });
  console.log(`job ${id}`);
} finally {
  await sql.end();
}

/** A transaction of postgres.js as Millrace takes it. */
function dbOf(tx: postgres.TransactionSql): Db {
  return {
    async query<Row>(text: string, values: unknown[] = []) {
      const rows = await tx.unsafe(text, values as never[]);
      return { rows: [...rows] as Row[], rowCount: rows.count };
    },
  };
}
