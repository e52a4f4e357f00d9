import { type Database, resent } from '../lambda/database.ts';
import { type HttpAnswer, type HttpEvent, json, jsonText } from '../lambda/http.ts';
import { jobJson } from '../lambda/job-json.ts';
import { ProblemError } from '../lambda/problems.ts';
import { jsonBody } from '../lambda/request-body.ts';
import type { Enqueued, NewJob } from '../queue/enqueue.ts';
import { get } from '../queue/get.ts';
import { validate } from '../queue/validate.ts';
import { contracts } from './contracts.ts';
import { idempotencyKeyOf, keyedBy } from './idempotency-key.ts';
import { put } from './put.ts';
import { settings } from './settings.ts';
import { wakeWorkers } from './wake-workers.ts';

/** Bytes of the body beside the payload's: the other fields, and white space within reason. */
const ENVELOPE_BYTES = 16_384;
/** Clients that write ASCII alone, as Python's, send `\u044f` for two bytes: the payload may be thrice as long. */
const ESCAPED = 3;

/** 201, Location and the job; 200 and the job that stands for it, if its idempotency key or unique key is taken. */
export async function enqueueOne(event: HttpEvent, db: Database): Promise<HttpAnswer> {
  const job = await requestedJob(event);
  const [enqueued] = (await put(db, event, [job], () => ({ pointer: '' }))) as [Enqueued];
  // The wake's statement goes first: while Lambda is asked, the job is read back.
  const woken = wakeWorkers(event, db, [job], [enqueued]);
  const [answered] = await Promise.all([answer(db, job.kind, enqueued), woken]);
  return answered;
}

/** @throws ProblemError that says what is wrong with it */
async function requestedJob(event: HttpEvent): Promise<NewJob> {
  const payloadMaxBytes = settings().PAYLOAD_MAX_BYTES;
  const body = jsonBody(event, { maxBytes: ESCAPED * payloadMaxBytes + ENVELOPE_BYTES });
  const validated = await validate(keyedBy(idempotencyKeyOf(event), body), contracts, { payloadMaxBytes });
  switch (validated.kind) {
    case 'valid':
      return validated.job;
    case 'too_large':
      throw new ProblemError(
        'too-large',
        `The payload has ${validated.payloadBytes} bytes as JSON and may have ${payloadMaxBytes}: keep it elsewhere and send where.`,
      );
    case 'unknown_kind':
      throw new ProblemError('unknown-kind', 'Look at errors: it lists the kinds that are known.', validated);
    case 'invalid':
      throw new ProblemError('invalid-job', 'Look at errors: each names a field of the body.', validated);
  }
}

/** Once the job is in, that is answered even if it cannot be read back: who is told otherwise sends another one. */
async function answer(db: Database, kind: string, { id, outcome, pruned }: Enqueued): Promise<HttpAnswer> {
  const status = outcome === 'created' && !pruned ? 201 : 200;
  const headers = outcome === 'replayed' ? { 'idempotency-replayed': 'true' } : {};
  if (pruned) return json(status, { id, kind, outcome, pruned }, headers);
  const stored = await resent(() => get(db, id)).catch(() => undefined);
  const told = stored && { ...stored, outcome };
  const body = told ? jobJson(told) : JSON.stringify({ id, kind, outcome });
  return jsonText(status, body, { location: `/jobs/${id}`, ...headers });
}
