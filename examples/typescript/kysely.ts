import { CompiledQuery, Kysely, PostgresDialect, sql, type Transaction } from 'kysely';
import { type Db, enqueue } from 'millrace/queue';
import pg from 'pg';
import { contracts } from './contracts.ts';

interface Tables {
  customers: { name: string };
}

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
await using db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });

const id = await db.transaction().execute(async (trx) => {
  await trx.insertInto('customers').values({ name: 'Ada' }).execute();
  // In SQL, where nobody checks the payload before the worker:
  await sql`SELECT millrace.enqueue('hello.greet', ${{ name: 'Ada' }})`.execute(trx);
  return enqueue(dbOf(trx), contracts, { kind: 'hello.greet', payload: { name: 'Ada' } });
});
console.log(`job ${id}`);

/** Kysely's transaction as Millrace takes it. */
function dbOf(trx: Transaction<Tables>): Db {
  return {
    async query<Row>(text: string, values: unknown[] = []) {
      const { rows, numAffectedRows } = await trx.executeQuery<Row>(CompiledQuery.raw(text, values));
      return { rows, rowCount: Number(numAffectedRows ?? rows.length) };
    },
  };
}
