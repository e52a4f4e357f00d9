/** GiB of the size `large` by family of instance classes, as AWS lists them; each next size has twice as much. */
const LARGE_GIBIBYTES: Readonly<Record<string, number>> = { t: 8, m: 8, r: 16, c: 4, x: 32, z: 16 };

const SMALLER = { micro: 1 / 8, small: 1 / 4, medium: 1 / 2, large: 1, xlarge: 2 };

/** What Postgres of RDS and Aurora takes in its default parameter groups: LEAST(DBInstanceClassMemory / 9531392, 5000). */
const BYTES_PER_CONNECTION = 9_531_392;
const MOST_CONNECTIONS = 5000;

/**
 * The operating system and RDS take their part before that: 300 MiB, and 5% from 6 GiB on. So a micro has about 80 and not 112,
 * and 2, 4 and 8 GiB have 192, 417 and 855; users have read 198, 413 and 856 in their servers.
 */
const OTHERS_MEBIBYTES = 300;
const OTHERS_SHARE = 0.05;

/**
 * How many connections Postgres takes at once on the smallest of these instance classes (`db.t4g.micro`), since a failover may
 * make it the writer. Undefined if one is unknown: `db.serverless` has as many as its owner lets it grow to.
 */
export function maxConnectionsOf(instanceClasses: readonly string[]): number | undefined {
  const gibibytes = instanceClasses.map(gibibytesOf);
  if (gibibytes.length === 0 || gibibytes.includes(undefined)) return undefined;
  const mebibytes = 1024 * Math.min(...gibibytes.map((known) => known ?? 0));
  const own = mebibytes - Math.max(OTHERS_MEBIBYTES, OTHERS_SHARE * mebibytes);
  return Math.min(MOST_CONNECTIONS, Math.floor((own * 1024 * 1024) / BYTES_PER_CONNECTION));
}

function gibibytesOf(instanceClass: string): number | undefined {
  const [, family = '', size = ''] = /^db\.([a-z])[\w-]*\.(\w+)/.exec(instanceClass) ?? [];
  const large = LARGE_GIBIBYTES[family];
  const [, times] = /^(\d+)xlarge$/.exec(size) ?? [];
  const factor = times === undefined ? SMALLER[size as keyof typeof SMALLER] : 2 * Number(times);
  return large === undefined || factor === undefined ? undefined : large * factor;
}
