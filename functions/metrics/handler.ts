import { resent } from '../lambda/database.ts';
import { databaseHttp } from '../lambda/database-http.ts';
import { exposition, PROMETHEUS_TYPE } from '../lambda/prometheus.ts';
import { StateMarks } from '../queue/state-marks.ts';
import { stats } from '../queue/stats.ts';
import { families } from './families.ts';

const marks = new StateMarks();

/** `GET /metrics`: the whole queue, for Prometheus. Read from the database, so it does not matter which sandbox answers. */
export const handler = databaseHttp('metrics', async (_event, db) => ({
  statusCode: 200,
  headers: { 'content-type': PROMETHEUS_TYPE, 'cache-control': 'no-store' },
  body: exposition(families(await resent(() => stats(db, marks)))),
}));
