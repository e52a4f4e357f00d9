import { databaseHttp } from '../lambda/database-http.ts';
import { enqueueBatch } from './batch.ts';
import { enqueueOne } from './one.ts';

/** `POST /jobs` and `POST /jobs/batch`: put jobs in. */
export const handler = databaseHttp('enqueue', (event, db) =>
  event.routeKey === 'POST /jobs/batch' ? enqueueBatch(event, db) : enqueueOne(event, db),
);
