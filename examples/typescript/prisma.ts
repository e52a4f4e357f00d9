import { PrismaPg } from '@prisma/adapter-pg';
import { type Db, enqueue } from 'millrace/queue';
import { contracts } from './contracts.ts';
import { type Prisma, PrismaClient } from './generated/client.ts';

const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: process.env.DATABASE_URL }) });

try {
  const id = await prisma.$transaction(async (tx) => {
    await tx.customer.create({ data: { name: 'Ada' } });
    // In SQL, where nobody checks the payload before the worker:
    await tx.$queryRaw`SELECT millrace.enqueue('hello.greet', ${{ name: 'Ada' }})::text`;
    return enqueue(dbOf(tx), contracts, { kind: 'hello.greet', payload: { name: 'Ada' } });
  });
  console.log(`job ${id}`);
} finally {
  await prisma.$disconnect();
}

/** Prisma's transaction as Millrace takes it. */
function dbOf(tx: Prisma.TransactionClient): Db {
  return {
    async query<Row>(text: string, values: unknown[] = []) {
      const rows = await tx.$queryRawUnsafe<Row[]>(text, ...values);
      return { rows, rowCount: rows.length };
    },
  };
}
