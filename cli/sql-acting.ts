import { v7 as uuidv7 } from 'uuid';
import { afterOf, cursorAfter } from '../functions/manage/redrive-cursor.ts';
import { cancel } from '../functions/queue/cancel.ts';
import { insertJob } from '../functions/queue/enqueue.ts';
import { erase } from '../functions/queue/erase.ts';
import type { Status } from '../functions/queue/job.ts';
import { redrive } from '../functions/queue/redrive.ts';
import { countRedrivable, REDRIVE_MAX, redriveMany } from '../functions/queue/redrive-many.ts';
import { assertStorable } from '../functions/queue/storable.ts';
import { CliError, EXIT } from './cli-error.ts';
import type { QueueAccess } from './queue.ts';
import type { Sql } from './queue-sql.ts';
import { getBySql, noSuchJob } from './sql-reading.ts';

type Acting = Pick<QueueAccess, 'enqueue' | 'cancel' | 'redrive' | 'redriveStep' | 'erase'>;

/** How long it waits for open transactions that hold the job or its keys. */
const PATIENCE = '3s';
const PATIENCE_MS = 3000;

/** All of it may be sent again: the id is made here, and operator_log knows the request. */
export function actingBySql(sql: Sql): Acting {
  const { by, run } = sql;
  return {
    enqueue: async ({ payload, runAt, ...job }) => {
      assertStorable(payload);
      const id = uuidv7();
      const at = runAt instanceof Date ? runAt.toISOString() : runAt;
      const whole = { ...job, id, payload, runAt: at, requestId: by.requestId };
      return run('enqueue', (db) => insertJob(db, whole, { lockTimeoutMs: PATIENCE_MS }));
    },
    cancel: async (id) => {
      const answer = await run('act', (db) => cancel(db, id, by, PATIENCE));
      if (answer === undefined) throw noSuchJob(id);
      if (typeof answer === 'object')
        throw wrongState(answer.wrongState, 'Only pending and processing jobs can be cancelled');
      return getBySql(sql, id);
    },
    redrive: async (id) => {
      const answer = await run('act', (db) => redrive(db, id, by, PATIENCE));
      if (answer === undefined) throw noSuchJob(id);
      if (answer === 'redriven') return getBySql(sql, id);
      if ('wrongState' in answer) throw wrongState(answer.wrongState, 'Only dead jobs can be redriven');
      const detail = `The job ${answer.twin} has the same unique key and is pending; this one stays dead.`;
      throw new CliError(detail, EXIT.notThere, { code: 'unique-key-taken' });
    },
    redriveStep: async ({ kind, error, deadAfter, deadBefore, limit = REDRIVE_MAX, cursor, dryRun }) => {
      const filter = { kind, error, deadAfter: timeText(deadAfter), deadBefore: timeText(deadBefore) };
      const after = cursor === undefined ? undefined : afterOf(filter, cursor);
      if (cursor !== undefined && after === undefined) throw wrongCursor();
      const request = { filter, limit, after };
      if (dryRun) {
        const { matched, next } = await run('act', (db) => countRedrivable(db, request));
        return { matched, redriven: 0, skipped: 0, nextCursor: cursorAfter(filter, next) };
      }
      const { redriven, skipped, next } = await run('act', (db) => redriveMany(db, request, by));
      return { matched: 0, redriven, skipped, nextCursor: cursorAfter(filter, next) };
    },
    erase: async (id) => {
      const answer = await run('act', (db) => erase(db, id, by));
      if (answer === undefined) throw noSuchJob(id);
      if (answer !== 'erased')
        throw wrongState(answer.wrongState, 'Only jobs that have ended can be erased; cancel it first');
    },
  };
}

/** As the API writes times into its cursors, so that one way can go on where the other stopped. */
function timeText(time: string | Date | undefined): string | undefined {
  return time === undefined ? undefined : new Date(time).toISOString().replace('Z', '000Z');
}

function wrongState(status: Status, rule: string): CliError {
  return new CliError(`${rule}; this one is ${status}.`, EXIT.notThere, { code: 'wrong-state' });
}

function wrongCursor(): CliError {
  const detail = 'The cursor is none that a step with the same filter gave: leave it out to begin with the oldest.';
  return new CliError(detail, EXIT.usage, { code: 'invalid-cursor' });
}
