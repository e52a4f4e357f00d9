import type { Db } from '../../functions/queue/db.ts';
import { until } from './ground.ts';

/** Where a statement waits within the server for as long as a test likes, whatever becomes of who sent it. */
export interface Gate {
  /** Resolves when somebody waits there. */
  reached(): Promise<void>;
  /** Lets them go on, and all who come later pass. Resolves when nobody waits any more. */
  open(): Promise<void>;
}

/**
 * `where`: the trigger's event and table, such as `AFTER UPDATE ON millrace.live_jobs`.
 * It looks again and again instead of waiting for a lock, since `lock_timeout` would end that.
 */
export async function closeGate(db: Db, where: string): Promise<Gate> {
  await db.query(`
    CREATE TABLE public.gate (is_open boolean);
    INSERT INTO public.gate VALUES (false);
    CREATE FUNCTION public.wait_at_gate() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      WHILE NOT (SELECT is_open FROM public.gate) LOOP
        PERFORM pg_sleep(0.005);
      END LOOP;
      RETURN NULL;
    END $$;
    CREATE CONSTRAINT TRIGGER gate ${where} FOR EACH ROW EXECUTE FUNCTION public.wait_at_gate()`);
  const waiting = async () =>
    (await db.query(`SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'`))
      .rowCount as number;
  return {
    reached: async () => {
      await until(waiting);
    },
    open: async () => {
      await db.query('UPDATE public.gate SET is_open = true');
      await until(async () => (await waiting()) === 0);
    },
  };
}
