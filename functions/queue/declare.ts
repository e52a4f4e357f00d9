import type { Contract, Contracts } from './contract.ts';
import type { Db } from './db.ts';
import { contractOf } from './kinds.ts';
import type { Schedule } from './schedule.ts';
import { sealPayload } from './seal.ts';

/** Instants in milliseconds since 1970, by the database's clock, a part of one cut off. */
export interface Declared {
  readonly name: string;
  /** Fire times after it are to come; those before are over. */
  readonly firesFrom: number;
  /** As the row has it, null if nobody has reckoned it yet. */
  readonly nextFireAt: number | null;
  /** The time when it was stated. */
  readonly now: number;
}

const DECLARE = `
SELECT d.name,
       floor(extract(epoch FROM d.fires_from) * 1000)::float8 AS "firesFrom",
       floor(extract(epoch FROM d.next_fire_at) * 1000)::float8 AS "nextFireAt",
       floor(extract(epoch FROM d.stated_at) * 1000)::float8 AS now
FROM millrace.declare_schedules($1::text::jsonb) d`;

/** A schedule as the database keeps it. */
export interface DeclaredSchedule {
  readonly name: string;
  readonly cron: string | undefined;
  readonly every: string | undefined;
  readonly zone: string | undefined;
  readonly kind: string;
  readonly queue: string;
  readonly max_attempts: number;
  readonly payload: unknown;
  readonly catch_up: string;
  readonly overlap: string;
}

/** With the payload sealed if its kind has a codec. @throws CodecError if it cannot be */
export async function declarable(schedule: Schedule, contracts: Contracts): Promise<DeclaredSchedule> {
  const { name, cron, every, zone, kind, catchUp: catch_up, overlap } = schedule;
  const contract = contractOf(contracts, kind) as Contract;
  const payload = await sealPayload(contract, kind, schedule.payload);
  const { queue, maxAttempts: max_attempts } = contract;
  return { name, cron, every, zone, kind, queue, max_attempts, payload, catch_up, overlap };
}

/**
 * Makes the rows of these schedules what the code says, and answers from when on each is to fire: a new one, and one whose times
 * have changed, from now on. One small statement that writes only what has changed.
 */
export async function declare(db: Db, schedules: readonly DeclaredSchedule[]): Promise<Declared[]> {
  return (await db.query<Declared>(DECLARE, [JSON.stringify(schedules)])).rows;
}
