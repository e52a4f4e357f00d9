import { contracts, processors } from '../../examples/processors/dead.ts';
import { around } from '../../examples/processors/middleware.ts';
import { enqueue } from '../../functions/queue/index.ts';
import { remaining, runOn } from '../lifecycle/ground.ts';
import { expect, test } from '../support/fixtures.ts';
import { blockNamed, blocksOf } from './blocks.ts';
import { otherBlocksOf } from './examples.ts';

test('docs/hooks.md shows files as they are, and one table', async () => {
  expect(await otherBlocksOf('docs/hooks.md')).toEqual(['sql tables']);
});

test('its job that dies is told of once, by its middleware and by the job of its death', async ({ own }) => {
  const captured: unknown[] = [];
  const middleware = around((error, { tags }) => captured.push([(error as Error).message, tags.kind, tags.attempt]));
  await own.pool.query(blockNamed(blocksOf('docs/hooks.md'), 'tables'));
  const id = await enqueue(own.pool, contracts, { kind: 'letter.send', payload: { to: 'ada@example.org' } });
  const time = { remainingMs: remaining(60_000), lingerSeconds: 1 };
  expect(await runOn(own.url, { contracts, processors, middleware, ...time })).toMatchObject({
    buried: 1,
    completed: 1,
  });
  expect(captured).toEqual([['there is no ada@example.org', 'letter.send', 1]]);
  const { rows } = await own.pool.query('SELECT * FROM lost_letters');
  expect(rows).toEqual([{ job_id: id, address: 'ada@example.org', reason: 'there is no ada@example.org' }]);
});
