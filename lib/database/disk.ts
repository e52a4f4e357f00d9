import { whole } from '../settings.ts';
import type { NewInstanceProps } from './job-database-props.ts';

/** What RDS has of this kind of disk, and by how much more a disk must be allowed to grow at least. */
const LEAST_GIBIBYTES = 20;
const MOST_GIBIBYTES = 65_536;
const LEAST_GROWTH_PER_CENT = 10;

/**
 * How large the disk of a new instance is, and what it may grow to.
 * @throws Error that names what RDS would refuse in the middle of a deploy
 */
export function diskOf({ allocatedGibibytes = 20, maxAllocatedGibibytes }: NewInstanceProps) {
  const most = Math.floor((MOST_GIBIBYTES * 100) / (100 + LEAST_GROWTH_PER_CENT));
  whole('allocatedGibibytes', allocatedGibibytes, LEAST_GIBIBYTES, most);
  const growth = maxAllocatedGibibytes ?? Math.min(MOST_GIBIBYTES, Math.max(100, 2 * allocatedGibibytes));
  const least = Math.ceil((allocatedGibibytes * (100 + LEAST_GROWTH_PER_CENT)) / 100);
  whole('maxAllocatedGibibytes, a tenth above allocatedGibibytes at least,', growth, least, MOST_GIBIBYTES);
  return { allocatedGibibytes, maxAllocatedGibibytes: growth };
}
