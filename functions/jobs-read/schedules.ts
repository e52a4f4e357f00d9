import * as z from 'zod';
import { type Database, resent } from '../lambda/database.ts';
import { type HttpAnswer, type HttpEvent, json } from '../lambda/http.ts';
import { queryOf } from '../lambda/query.ts';
import { listSchedules } from '../queue/list-schedules.ts';

/** It is all of them or nothing: who sends a filter would take what comes for what fits it. */
const noQuery = z.strictObject({});

export async function schedules(event: HttpEvent, db: Database): Promise<HttpAnswer> {
  queryOf(event, noQuery);
  return json(200, { schedules: await resent(() => listSchedules(db)) });
}
