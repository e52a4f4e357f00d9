import * as z from 'zod';

/** Ten seconds of a soak. */
export const SoakWindow = z.object({
  /** Its end, from the begin. */
  second: z.number(),
  begunPerSecond: z.number(),
  /** Of the jobs that began within it; null where none did. */
  p50Ms: z.number().nullable(),
  p99Ms: z.number().nullable(),
  /** Jobs due and not begun, at its end. */
  waiting: z.number(),
  /** Of the table that claims read. */
  tableBytes: z.number(),
  indexBytes: z.number(),
  /** As the statistics have it: what vacuum has not removed yet. */
  deadRows: z.number(),
  /** Every other table with its indexes. */
  restBytes: z.number(),
});

/** What a soak came to, as it stands in the JSON of the benchmark: the plots are made of it. */
export const Soak = z.object({
  system: z.string(),
  version: z.string(),
  settings: z.string(),
  /** Whether a transaction stayed open all the time. */
  pinned: z.boolean(),
  capacityPerSecond: z.number(),
  /** What was put in. */
  perSecond: z.number(),
  seconds: z.number(),
  firstMinuteP99Ms: z.number().nullable(),
  /** Of the jobs that began in it, however long ago they were put in. */
  lastMinuteP99Ms: z.number().nullable(),
  windows: z.array(SoakWindow),
});

export type SoakWindow = z.infer<typeof SoakWindow>;
export type Soak = z.infer<typeof Soak>;
