import { Supply } from '../../functions/queue/supply.ts';
import { pendingJob } from '../support/factories.ts';
import { expect, test, vi } from '../support/fixtures.ts';
import { KINDS } from './claiming.ts';

test('told to ask again, it looks back over the grace, however soon after another claim', async ({ db }) => {
  const supply = new Supply(['default'], KINDS, () => {});
  const taken: string[] = [];
  const claimOnce = () => supply.claim(db, { limit: 10, kinds: KINDS }, ({ id }) => taken.push(id));
  const clock = vi.spyOn(performance, 'now').mockReturnValue(1_000);
  await claimOnce();
  const late = await pendingJob(db, { dueInSeconds: -1 });
  await claimOnce();
  expect(taken, 'the queue had nothing, and rests').toEqual([]);
  supply.askAgain();
  await claimOnce();
  clock.mockRestore();
  expect(taken).toEqual([late.id]);
});
