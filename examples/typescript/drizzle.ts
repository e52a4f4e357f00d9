import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { pgTable, text } from 'drizzle-orm/pg-core';
import { type Db, enqueue } from 'millrace/queue';
import pg from 'pg';
import { contracts } from './contracts.ts';

const customers = pgTable('customers', { name: text().primaryKey() });

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
const db = drizzle({ client: pool });

try {
  const id = await db.transaction(async (tx) => {
    await tx.insert(customers).values({ name: 'Ada' });
    // In SQL, where nobody checks the payload before the worker:
    await tx.execute(sql`SELECT millrace.enqueue('hello.greet', ${{ name: 'Ada' }})`);
    return enqueue(dbOf(tx), contracts, { kind: 'hello.greet', payload: { name: 'Ada' } });
  });
  console.log(`job ${id}`);
} finally {
  await pool.end();
}

/** Drizzle's transaction as Millrace takes it. Drizzle numbers parameters itself, so each $1 becomes one of its own. */
function dbOf(tx: Pick<typeof db, 'execute'>): Db {
  return {
    async query<Row>(text: string, values: unknown[] = []) {
      const parts = text
        .split(/\$(\d+)/)
        .map((part, i) => (i % 2 ? sql.param(values[Number(part) - 1]) : sql.raw(part)));
      const { rows, rowCount } = await tx.execute(sql.join(parts));
      return { rows: rows as Row[], rowCount };
    },
  };
}
