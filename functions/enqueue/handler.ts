import { v7 as uuidv7 } from 'uuid';
import { contracts } from '#contracts';
import { type Database, resent } from '../lambda/database.ts';
import { databaseHttp } from '../lambda/database-http.ts';
import { enqueueEnv, readEnv } from '../lambda/env.ts';
import { type HttpAnswer, jsonText } from '../lambda/http.ts';
import { jobJson } from '../lambda/job-json.ts';
import { once } from '../lambda/once.ts';
import { ProblemError } from '../lambda/problems.ts';
import { jsonBody } from '../lambda/request-body.ts';
import { insertJob, type NewJob } from '../queue/enqueue.ts';
import { get } from '../queue/get.ts';
import { validate } from '../queue/validate.ts';

/** Bytes of the body beside the payload's: the other fields, and white space within reason. */
const ENVELOPE_BYTES = 16_384;
/** Clients that write ASCII alone, as Python's, send `\u044f` for two bytes: the payload may be thrice as long. */
const ESCAPED = 3;

const env = once(() => readEnv(enqueueEnv));

/** `POST /jobs`: puts one job in. 201, Location, the job. */
export const handler = databaseHttp('enqueue', async (event, db) => {
  const payloadMaxBytes = env().PAYLOAD_MAX_BYTES;
  const request = jsonBody(event, { maxBytes: ESCAPED * payloadMaxBytes + ENVELOPE_BYTES });
  const validated = await validate(request, contracts, { payloadMaxBytes });
  switch (validated.kind) {
    case 'valid':
      return put(db, validated.job);
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
});

/**
 * The id is made here, so that sending again what may have arrived already changes nothing. Once the job is in, that is
 * answered even if it cannot be read back: who is told otherwise sends another one.
 */
async function put(db: Database, job: NewJob): Promise<HttpAnswer> {
  const id = uuidv7();
  await resent(() => insertJob(db, { ...job, id }));
  const stored = await resent(() => get(db, id)).catch(() => undefined);
  const body = stored === undefined ? JSON.stringify({ id, kind: job.kind }) : jobJson(stored);
  return jsonText(201, body, { location: `/jobs/${id}` });
}
