import { ISO } from './iso.ts';
import type { AttemptError, JobId, Status } from './job.ts';

/** What is shown of a job outside, named as on the wire. Times are ISO 8601, UTC, with microseconds. */
export interface JobView {
  readonly id: JobId;
  readonly kind: string;
  readonly queue: string;
  readonly subject: string | null;
  readonly status: Status;
  readonly priority: number;
  /** Attempts begun so far. */
  readonly attempts: number;
  readonly max_attempts: number;
  /** When it is due, or was when it was last claimed. */
  readonly run_at: string;
  readonly created_at: string;
  /** Begin of the latest attempt. */
  readonly started_at: string | null;
  readonly finished_at: string | null;
  readonly cancel_requested_at: string | null;
  readonly idempotency_key: string | null;
  readonly unique_key: string | null;
  /** Of the HTTP request that put it in, or what its producer gave. */
  readonly request_id: string | null;
  /** How far the latest attempt is; null if it said nothing, and once the job has ended. */
  readonly progress: Progress | null;
}

export interface Progress {
  /** From 0 to 1. */
  readonly fraction: number;
  readonly note: string | null;
  readonly updated_at: string;
}

/** One row of a listing: of its errors only the last one, without the stack, so that 200 rows stay below 1 MB. */
export interface ListedJob extends JobView {
  readonly last_error: Omit<AttemptError, 'stack'> | null;
}

/** Fixed text for the select lists of get.ts and list.ts; `j` is a row of millrace.jobs, with payload and result or without. */
export const VIEW_COLUMNS = `
  j.id, j.kind, j.queue, j.subject, j.status, j.priority, j.attempts, j.max_attempts,
  to_char(j.run_at AT TIME ZONE 'UTC', ${ISO}) AS run_at,
  to_char(j.created_at AT TIME ZONE 'UTC', ${ISO}) AS created_at,
  to_char(j.started_at AT TIME ZONE 'UTC', ${ISO}) AS started_at,
  to_char(j.finished_at AT TIME ZONE 'UTC', ${ISO}) AS finished_at,
  to_char(j.cancel_requested_at AT TIME ZONE 'UTC', ${ISO}) AS cancel_requested_at,
  j.idempotency_key, j.unique_key, j.request_id,
  CASE WHEN j.progress IS NOT NULL THEN jsonb_build_object(
    'fraction', j.progress,
    'note', j.progress_note,
    'updated_at', to_char(j.progress_at AT TIME ZONE 'UTC', ${ISO})
  ) END AS progress`;
