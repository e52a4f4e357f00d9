// biome-ignore-all assist/source/organizeImports: the order is that of a job's life
/*
 * The engine, in the order of a job's life. It knows Node, the types of `pg`, and zod; nothing of Lambda, HTTP or AWS.
 * What is exported here is for applications; what is only named here is inside.
 */

// A kind is declared: what producers and workers agree on, and the code that only workers have.
export { type BackoffPolicy, type Contract, type Contracts, DEFAULTS, defineJob, type Processors } from './contract.ts';
// A schedule is declared beside it; check-schedules.ts sees that it is one.
export { type CatchUp, type Overlap, type Schedule, type Schedules, schedule } from './schedule.ts';
export { deadJob } from './dead-job.ts';
// A codec keeps what is stored of a kind from being read: seal.ts and unseal.ts, at enqueue, before and after a processor.
export { aesGcm } from './aes-codec.ts';
export { type Codec, CodecError } from './codec.ts';
export { unseal } from './unseal.ts';
export type { Context, Log } from './context.ts';
export { type Middleware, NextUsedError } from './middleware.ts';
export {
  CancelledError,
  ClaimLostError,
  DeadlineError,
  DrainError,
  IdempotencyKeyReusedError,
  MillraceError,
  PermanentError,
  RetryAfter,
  Snooze,
  TransactionUsedError,
  UnknownKindError,
  UnstorableError,
} from './errors.ts';

// It is checked (validate.ts, what comes over HTTP) and put in (enqueue.ts): pending.
export { enqueue, enqueueMany, type TypedJob } from './enqueue-typed.ts';
export type { Enqueued, NewJob } from './enqueue.ts';
export { PayloadError } from './payload.ts';

// A run (run.ts) works it off. Its broker (broker.ts) asks in rounds: watch, tell progress, claim. What has ended is settled
// meanwhile (settler.ts); both take turns on the run's own connection (in-turn.ts).
export { type Connect, type Connection, RunFailedError, type RunOptions, type RunSummary, run } from './run.ts';
// Fire: what recurs is put in by the run itself. firing.ts watches the clock, declare.ts tells the database which schedules there
// are, fire-times.ts says when they fire and due-times.ts which of that is due, fire.ts is the statement.
// Claim: supply.ts takes the queues in turn, queue-cursor.ts keeps how far they were seen, marks.ts shares it, rescan-timing.ts says
// when one is looked through from the beginning, look-behind.ts does so beside the claims if that is long, in slices of time
// (time-slices.ts); aged-share.ts says how many go to the oldest, claim.ts is the statement; close-held.ts sees that enqueues do
// not hold it for ever; lost-claims.ts and release-tokens.ts give back what a lost answer held. It is processing.
// Process: attempts.ts starts it, perform.ts runs its processor (payload.ts, attempt-context.ts, stopper.ts) within what is
// around it (middleware.ts), with transaction.ts and commit.ts if it asks for one; watcher.ts tells it of a cancel or a lost
// claim. What it says of its progress is gathered by progress-board.ts and written by progress.ts.
// Settle: judge.ts says what it came to, decide.ts what is written for it, batch.ts and settle.ts write it, by
// complete.ts, bury.ts (which puts in what on-dead.ts says), retry.ts and release.ts, the last two by give-back.ts;
// around-blocked.ts keeps one that somebody holds from stopping the others.
export { backoff } from './backoff.ts';

// What happens to it from outside.
// first-lease.ts says where the leases begin that may have run out, lease-in.ts whether one lies behind that.
export { reap } from './reap.ts';
export { cancel } from './cancel.ts';
export { redrive } from './redrive.ts';
export { countRedrivable, redriveMany } from './redrive-many.ts';
export { erase } from './erase.ts';
export type { Operator } from './operator.ts';
export { pause, resume } from './pause.ts';
export { type ByHand, fireByHand } from './fire-by-hand.ts';

// How it is seen.
export type { Emit, QueueEvent } from './events.ts';
// waiters.ts keeps those who wait for its end; look.ts is the one statement for all of them.
export { get } from './get.ts';
export { type Listing, list, type Page } from './list.ts';
export { COUNT_LIMIT, type Counts, counts } from './counts.ts';
export type { Filter } from './list-filter.ts';
// state-marks.ts is for who asks again and again.
export { StateMarks } from './state-marks.ts';
export { stats } from './stats.ts';
export { readiness } from './readiness.ts';
export { listSchedules, type ScheduleView } from './list-schedules.ts';

// What comes after it.
// prune-marks.ts lets go of what claims have seen for workers that are no more.
export { rollUp } from './roll-up.ts';
export { prune } from './prune.ts';
export { upkeep } from './upkeep.ts';

// What all of it stands on.
export type { Db } from './db.ts';
export type { AttemptError, Claim, ClaimedJob, JobId, Status } from './job.ts';
