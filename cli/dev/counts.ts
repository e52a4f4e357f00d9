import { setTimeout as sleep } from 'node:timers/promises';
import { connector } from '../../functions/lambda/connect.ts';
import { stats } from '../../functions/queue/stats.ts';
import type { Connection } from '../../functions/queue/steady-connection.ts';

export interface Counts {
  readonly pending: number;
  readonly processing: number;
  /** Since the queue was made. */
  readonly completed: number;
  readonly dead: number;
  /** Completed a second, over the last few. */
  readonly perSecond: number;
}

const EACH_MS = 1000;
/** Looks that the rate is taken over. */
const LOOKS = 5;

/** Looks each second, on a connection of its own. `onCounts` gets undefined while the database does not answer. */
export function watchCounts(
  databaseUrl: string,
  onCounts: (counts: Counts | undefined) => void,
): { close(): Promise<void> } {
  const closed = new AbortController();
  const connect = connector({ DATABASE_URL: databaseUrl, DATABASE_CA_FILE: process.env.DATABASE_CA_FILE }, 'dev');
  const watching = watch(connect, onCounts, closed.signal);
  return {
    close: async () => {
      closed.abort();
      await watching;
    },
  };
}

async function watch(
  connect: () => Promise<Connection>,
  onCounts: (counts: Counts | undefined) => void,
  signal: AbortSignal,
): Promise<void> {
  const seen: { at: number; completed: number }[] = [];
  let db: Connection | undefined;
  while (!signal.aborted) {
    try {
      db ??= await connect();
      const { kinds } = await stats(db);
      const sum = (of: (kind: (typeof kinds)[number]) => number) => kinds.reduce((all, kind) => all + of(kind), 0);
      const completed = sum(({ totals }) => totals.completed);
      seen.splice(0, seen.push({ at: performance.now(), completed }) - LOOKS - 1);
      const [first = { at: 0, completed }, latest = first] = [seen[0], seen.at(-1)];
      const perSecond = seen.length > 1 ? ((latest.completed - first.completed) * 1000) / (latest.at - first.at) : 0;
      const counts = { pending: sum(({ pending }) => pending), processing: sum(({ processing }) => processing) };
      if (!signal.aborted) onCounts({ ...counts, completed, dead: sum(({ dead }) => dead), perSecond });
    } catch {
      await db?.end().catch(() => {});
      db = undefined;
      if (!signal.aborted) onCounts(undefined);
    }
    await sleep(EACH_MS, undefined, { signal }).catch(() => {});
  }
  await db?.end().catch(() => {});
}
