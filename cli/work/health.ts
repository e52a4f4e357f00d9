import { utimes, writeFile } from 'node:fs/promises';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { exposition, PROMETHEUS_TYPE } from '../../functions/lambda/prometheus.ts';
import { families } from '../../functions/metrics/families.ts';
import type { Db } from '../../functions/queue/db.ts';
import { StateMarks } from '../../functions/queue/state-marks.ts';
import { type Stats, stats } from '../../functions/queue/stats.ts';
import { CliError, EXIT } from '../cli-error.ts';
import type { Contact } from './contact.ts';

export interface HealthSource {
  readonly contact: Contact;
  /** Aborts when the worker begins to end. */
  readonly finish: AbortSignal;
}

/** `ok` alone is well. `starting`: the database has not answered yet. `failing`: it does no more. `draining`: the worker ends. */
function healthOf({ contact, finish }: HealthSource) {
  const { ageSeconds, isFresh } = contact;
  const status = finish.aborted ? 'draining' : ageSeconds === undefined ? 'starting' : isFresh ? 'ok' : 'failing';
  return { status, last_contact_seconds: ageSeconds === undefined ? null : Math.round(ageSeconds * 10) / 10 };
}

export interface HealthOptions {
  readonly healthPort?: number;
  readonly healthHost: string;
  readonly healthFile?: string;
}

/** Tells of the worker's health where it is asked to, until what it resolves is called. @throws CliError if it cannot */
export async function openHealth(
  { healthPort: port, healthHost: host, healthFile }: HealthOptions,
  source: HealthSource,
  db: Db,
): Promise<() => void> {
  const server = port === undefined ? undefined : await listen({ host, port }, source, db);
  const close = () => {
    server?.close();
    server?.closeAllConnections();
  };
  if (healthFile === undefined) return close;
  try {
    const touching = await touchWhileWell(healthFile, source);
    return () => {
      clearInterval(touching);
      close();
    };
  } catch (error) {
    close();
    throw error;
  }
}

/** Answers `GET /health` and `GET /metrics`. @throws CliError if it cannot listen there */
async function listen({ host, port }: { host: string; port: number }, source: HealthSource, db: Db): Promise<Server> {
  const marks = new StateMarks();
  const state = () => stats(db, marks);
  const server = createServer(({ method, url }, response) => {
    void answer(`${method} ${url?.split('?')[0]}`, source, state, response);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  }).catch((cause: Error) => {
    throw new CliError(
      `cannot listen on ${host}:${port} (--health-host, --health-port): ${cause.message}`,
      EXIT.usage,
      {
        cause,
      },
    );
  });
  return server;
}

async function answer(
  request: string,
  source: HealthSource,
  state: () => Promise<Stats>,
  response: ServerResponse,
): Promise<void> {
  if (request === 'GET /health' || request === 'HEAD /health') {
    const health = healthOf(source);
    send(response, health.status === 'ok' ? 200 : 503, 'application/json', `${JSON.stringify(health)}\n`);
  } else if (request === 'GET /metrics') {
    await state().then(
      (all) => send(response, 200, PROMETHEUS_TYPE, exposition(families(all))),
      (error: Error) => send(response, 503, 'text/plain', `the database did not tell: ${error.message}\n`),
    );
  } else {
    send(response, 404, 'text/plain', 'There are GET /health and GET /metrics.\n');
  }
}

function send(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(body);
}

/** Milliseconds. */
const TOUCH_EACH_MS = 5_000;
const LOOK_EACH_MS = 500;

/**
 * Touches the file at once when all is well, and each 5 s while it stays so. Its age says the rest. @throws CliError if it cannot
 */
async function touchWhileWell(file: string, source: HealthSource): Promise<NodeJS.Timeout> {
  await writeFile(file, '', { flag: 'a' }).catch((cause: Error) => {
    throw new CliError(`cannot write the file ${file} (--health-file): ${cause.message}`, EXIT.usage, { cause });
  });
  // From here on it is as old as can be, until all is well.
  await utimes(file, 0, 0);
  let touchedAt = Number.NEGATIVE_INFINITY;
  return setInterval(() => {
    if (healthOf(source).status !== 'ok' || performance.now() - touchedAt < TOUCH_EACH_MS) return;
    touchedAt = performance.now();
    const now = new Date();
    utimes(file, now, now).catch(() => {});
  }, LOOK_EACH_MS);
}
