import { expect, test } from './fixtures.ts';
import { dayOf, layPastDays, partitionsOf } from './partitions.ts';

test('days that lie before today already, as where midnight came after the migration, are laid anew', async ({
  own: { pool },
}) => {
  await layPastDays(pool, 1);
  await layPastDays(pool, 3);
  const days = await Promise.all([3, 2, 1, 0].map((n) => dayOf(pool, n * 86_400)));
  for (const table of ['finished_jobs', 'payloads'] as const) {
    expect((await partitionsOf(pool, table)).slice(0, 5)).toEqual(['oldest', ...days]);
  }
});
