import type { Used, Work } from './system.ts';

/*
 * What a benchmark and its worker processes say to each other: a line of JSON each, over stdin and stdout, so that a
 * worker may be written in any language.
 */

/** The argument that a worker process is started with. */
export interface Given {
  readonly databaseUrl: string;
  readonly work: Work;
  /** Of the system, as its own worker process reads them. */
  readonly settings: unknown;
}

export type Order = 'go' | 'starts' | 'stop';

export type Told =
  /** Connected. */
  | { readonly ready: true }
  /** So many jobs since `go`, the last at `at`. */
  | { readonly settled: number; readonly at: number }
  | { readonly starts: readonly (readonly [n: number, at: number])[] }
  /** And ends. */
  | { readonly used: Used };
