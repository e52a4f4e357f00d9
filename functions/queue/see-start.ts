import { LATE_COMMIT_SECONDS } from './claim.ts';
import type { Db } from './db.ts';
import { hashOf, type Kinds, RESCAN_SECONDS } from './marks.ts';
import { COUNT, type Seen, type Start } from './start.ts';

/** Which slot of which worker. */
export interface Slot {
  /** The worker's name: of its function, on Lambda. */
  readonly worker: string;
  readonly slot: number;
}

/** What a start finds, and of whom it is to take the slot: a claim token of the run that had it last, `null` if none ever had. */
export interface Sight extends Seen {
  readonly token: string | null;
}

const SEE = `
SELECT *
FROM millrace.see_start(
  worker => $1,
  slot => $2,
  queues => $3,
  kinds => $4,
  kinds_hash => $5,
  places => $6,
  goal_seconds => $7,
  unknown_job_seconds => $8,
  count_limit => $9,
  grace_seconds => $10,
  rescan_seconds => $11
)`;

interface Row {
  readonly token: string | null;
  readonly present: boolean;
  readonly age_seconds: number | null;
  readonly job_seconds: number | null;
  readonly due: number;
  readonly in_flight: number;
}

/** All that `decideStart` needs, in one statement: an empty tick has no other. `kinds`: those that the run could finish. */
export async function seeStart(
  db: Db,
  start: Start & Slot,
  { queues, kinds }: { readonly queues: readonly string[]; readonly kinds: Kinds },
): Promise<Sight> {
  const { rows } = await db.query<Row>(SEE, [
    start.worker,
    start.slot,
    queues,
    [...kinds.keys()].sort(),
    hashOf(kinds),
    (start.slot + COUNT.slack) * start.concurrency,
    COUNT.goalSeconds,
    COUNT.unknownJobSeconds,
    COUNT.limit,
    LATE_COMMIT_SECONDS,
    RESCAN_SECONDS,
  ]);
  const { token, present, age_seconds, job_seconds, due, in_flight } = rows[0] as Row;
  return {
    token,
    holder: present ? { ageSeconds: age_seconds ?? 0 } : undefined,
    due,
    inFlight: in_flight,
    jobSeconds: job_seconds ?? undefined,
  };
}
