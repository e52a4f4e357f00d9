import type { Server } from './server.ts';

/** A part of the benchmark that can be run alone: `npm run bench -- --only <name>`. */
export interface Row {
  /** Lower case with hyphens: `drain-one-process`. */
  readonly name: string;
  /** A sentence: what is measured, of what, and what the times begin and end with. */
  readonly what: string;
  /** Left out unless `--only` names it or it is `--quick`, since it takes so long. Default false. */
  readonly long?: boolean;
  /** Left out unless `--only` names it, since another row has it in it. Default false. */
  readonly part?: boolean;
  run(bench: Bench): Promise<Result>;
}

export interface Bench {
  /** Small numbers and one round: it shows that a row runs, and no more. */
  readonly quick: boolean;
  /** How often each subject is measured, in turns with the others. */
  readonly rounds: number;
  readonly server: Server;
  /** How long a soak lasts, if it was said. */
  readonly minutes?: number | undefined;
  /** What is going on, for whoever waits: on stderr. */
  say(sentence: string): void;
}

/** A table, and what is to be reached in it. */
export interface Result {
  readonly columns: readonly string[];
  /** Cells in the order of the columns; what is no number is printed as it stands. */
  readonly lines: readonly (readonly Cell[])[];
  readonly goals?: readonly Goal[];
  /** What a reader must know to judge the figures. */
  readonly notes?: readonly string[];
  /** Figures over time, for plots: kept in the JSON, not shown. */
  readonly series?: unknown;
}

export type Cell = string | number | Spread;

/** Of the rounds. */
export interface Spread {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

export interface Goal {
  /** `drain, one process, against graphile-worker at its best settings` */
  readonly of: string;
  readonly value: number;
  /** Met if the value is at least, or at most, so much. */
  readonly atLeast?: number;
  readonly atMost?: number;
  /** `×`, `ms`, `leases/s` */
  readonly unit: string;
}
