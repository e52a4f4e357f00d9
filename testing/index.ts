/*
 * For the tests of applications, on their own database, in a transaction that the test opens and rolls back: nothing
 * outlives it, and other transactions see nothing of it. docs/testing.md shows it at work.
 */
export { assertEnqueued, type WantedJob } from './assert-enqueued.ts';
export { type Drained, type DrainedAttempt, DrainLimitError, type DrainOptions, drain } from './drain.ts';
export { type EnqueuedJob, enqueued } from './enqueued.ts';
export type { DeepPartial } from './mismatch.ts';
export type { LogLine, ProgressCall } from './recorder.ts';
export { type ProcessorRun, type RunProcessorOptions, runProcessor } from './run-processor.ts';
export { NoTransactionError } from './transaction.ts';
