import { StateMarks } from '../../../functions/queue/state-marks.ts';
import { LeaseMark } from '../../../functions/reap/lease-mark.ts';
import { tick } from '../../../functions/reap/tick.ts';
import { silent } from '../../lifecycle/ground.ts';
import { openPool } from '../../support/database.ts';

const EVERY_MS = 60_000;

/** Millrace's reaper beside the workers, each minute as the stack starts it. Resolves what ends it; that rejects with what failed. */
export function keepUp(databaseUrl: string): () => Promise<void> {
  const pool = openPool(databaseUrl, 1);
  const mark = new LeaseMark();
  const stateMarks = new StateMarks();
  const failures: unknown[] = [];
  const tickOnce = async () => {
    const ticked = await tick({
      db: pool,
      log: silent,
      contracts: async () => ({}),
      mark,
      stateMarks,
      keepDays: 7,
      deadKeepDays: 30,
      keyKeepDays: 7,
      timeLeft: () => true,
    });
    failures.push(...ticked.failures.map(({ error }) => error));
  };
  let going = tickOnce();
  const timer = setInterval(() => {
    going = going.then(tickOnce);
  }, EVERY_MS);
  return async () => {
    clearInterval(timer);
    await going;
    await pool.end();
    if (failures.length > 0) throw new AggregateError(failures, 'ticks of the reaper failed');
  };
}
