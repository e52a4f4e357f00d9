import type { Row } from '../frame/row.ts';
import { rows as delay } from './delay.ts';
import { rows as drain } from './drain.ts';
import { rows as enqueue } from './enqueue.ts';
import { rows as failing } from './failing.ts';
import { rows as heavy } from './heavy.ts';
import { rows as latency } from './latency.ts';
import { rows as memory } from './memory.ts';
import { rows as reads } from './reads.ts';
import { rows as reaper } from './reaper.ts';
import { rows as retention } from './retention.ts';
import { rows as scripts } from './scripts.ts';
import { rows as soak } from './soak.ts';
import { rows as traps } from './traps.ts';

/** In the order of the output. */
export const rows: readonly Row[] = [
  ...enqueue,
  ...drain,
  ...failing,
  ...heavy,
  ...latency,
  ...delay,
  ...memory,
  ...reaper,
  ...reads,
  ...retention,
  ...traps,
  ...scripts,
  ...soak,
];
