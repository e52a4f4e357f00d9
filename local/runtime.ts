import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type GuardedRoute, readApp, type Target } from './app.ts';
import { LocalDatabase } from './database.ts';
import type { LocalFunction } from './function.ts';
import { openGateway } from './gateway.ts';
import { openInvocations } from './invocations.ts';
import { lock } from './lock.ts';
import { startOf } from './process-identity.ts';
import { Processes } from './processes.ts';
import type { Reporter } from './reporter.ts';
import { Announcement } from './runtime-file.ts';
import { runSchedules } from './schedules.ts';
import type { Settings } from './settings.ts';
import { StartError } from './start-error.ts';
import { synthesize } from './synthesize.ts';
import { Teardown } from './teardown.ts';
import { Threads } from './threads.ts';
import { TOKENS_FILE } from './tokens-file.ts';

export interface RuntimeOptions extends Settings {
  /** Folder with `cdk.json`; data go to `.millrace/` in it. */
  readonly projectDirectory: string;
  readonly report: Reporter;
  /** Gives a start up: whatever is up already is stopped, and startRuntime throws `stopped`. */
  readonly signal?: AbortSignal;
}

export interface Runtime {
  readonly url: string;
  readonly databaseUrl: string;
  /** Whether the template has an HTTP API; if not, every request is answered 404. */
  readonly hasApi: boolean;
  /** Resolves when the embedded Postgres ended under it: nothing works any more, so stop. */
  readonly lost: Promise<StartError>;
  /** Ticks all schedules now, out of turn: a worker that died is replaced, the reaper looks. */
  tick(): void;
  /** Drains: requests under way are answered, workers give their jobs back. Resolves when nothing of it runs any more. */
  stop(): Promise<void>;
  /** Shortens a stop under way: requests are cut off, processes are killed. */
  hurry(): void;
}

/**
 * Starts everything on this machine: Postgres (unless one is given), schema, HTTP API on loopback, schedules.
 * Resolves when all is up. @throws StartError, with nothing left running
 */
export async function startRuntime(options: RuntimeOptions): Promise<Runtime> {
  const teardown = new Teardown();
  const aborted = () => options.signal?.aborted === true;
  try {
    const runtime = await start(options, teardown);
    options.signal?.throwIfAborted();
    return runtime;
  } catch (error) {
    await teardown.run();
    throw aborted() ? new StartError('stopped', 'Stopped before it was up.', { cause: error }) : error;
  }
}

/** Each part is registered for the teardown before what rests on it, so that it outlives that. */
async function start(options: RuntimeOptions, teardown: Teardown): Promise<Runtime> {
  const { projectDirectory, report, tickSeconds } = options;
  const directory = join(projectDirectory, '.millrace');
  teardown.add(await mkdir(directory, { recursive: true }).then(() => lock(directory), unwritable));

  const database = new LocalDatabase(options.databaseUrl, join(directory, 'postgres'), report);
  teardown.add(() => database.stop());
  const threads = new Threads(report.functionLine);
  teardown.add(() => threads.close());
  let stopping = false;
  const invocations = await openInvocations((fn, event) => {
    void processes.start(fn, event).ended.then((ending) => report.ended({ fn, event }, ending, { last: stopping }));
  });
  teardown.add(() => invocations.close());
  const gateway = await openGateway({ port: options.port, invoke: threads.invoke, onAnswer: report.answered });
  const announcement = new Announcement(directory);
  const processes = new Processes(report.functionLine, (workers) => announcement.change({ workers }));
  teardown.add(async () => {
    const [{ killed }] = await Promise.all([processes.drain(), gateway.close()]);
    if (killed > 0) report.line(`killed ${killed} that did not drain in time`);
  });
  teardown.add(async () => {
    stopping = true;
    invocations.ignore();
  });

  const assembly = join(directory, 'cdk.out');
  const [databaseUrl] = await bothOrNeither(
    options.signal,
    (signal) => database.start(signal),
    (signal) => synthesize(projectDirectory, assembly, signal),
  );
  const app = await readApp(assembly, {
    DATABASE_URL: databaseUrl,
    AWS_ENDPOINT_URL_LAMBDA: invocations.url,
    ...(options.auth ? { TOKENS_FILE: join(directory, TOKENS_FILE) } : { OPEN_ROLE: 'operator' }),
  });
  for (const note of [...app.notes, ...(options.auth ? closedNotes(app.routes) : [])]) report.line(note);
  const routes = options.auth
    ? app.routes
    : app.routes.map((route) => ({ ...route, guard: { kind: 'none' } as const }));
  threads.warm(functionsOf(routes));

  const schedules = runSchedules(app.schedules, {
    tickSeconds,
    start: (fn, event) => processes.start(fn, event),
    onEnd: report.ended,
  });
  teardown.add(async () => schedules.stop());
  invocations.open(app.woken);
  gateway.open(routes);
  teardown.add(() => announcement.withdraw());
  await announcement.change({
    url: gateway.url,
    databaseUrl,
    pid: process.pid,
    start: (await startOf(process.pid)) ?? '',
  });
  return {
    url: gateway.url,
    databaseUrl,
    hasApi: routes.length > 0,
    lost: database.lost,
    tick: () => schedules.tick(),
    stop: () => teardown.run(),
    hurry: () => {
      processes.hurry();
      gateway.hurry();
    },
  };
}

/** Why requests get nowhere though the API is up. */
function closedNotes(routes: readonly GuardedRoute[]): string[] {
  const reasons = routes.flatMap(({ guard }) => (guard.kind === 'closed' ? [guard.why] : []));
  return [...new Set(reasons)].map((why) => {
    const closed = reasons.filter((reason) => reason === why).length;
    return `MILLRACE_AUTH=on: ${closed} of ${routes.length} routes answer 403 to everybody, since ${why}.`;
  });
}

/** Those that answer, and those that are asked before. */
function functionsOf(routes: readonly Target<GuardedRoute>[]): LocalFunction[] {
  return routes.flatMap(({ fn, guard }) => (guard.kind === 'function' ? [fn, guard.fn] : [fn]));
}

function unwritable(cause: unknown): never {
  const { code, message } = cause as NodeJS.ErrnoException;
  const remedy = code === 'EEXIST' ? 'move that file away' : 'make its parent writable';
  throw new StartError('not_writable', `The folder for data cannot be made (${message}): ${remedy}.`, { cause });
}

/** Runs both at once; when one fails the other is told to give up, and its end is awaited before the error goes on. */
async function bothOrNeither<A, B>(
  signal: AbortSignal | undefined,
  first: (signal: AbortSignal) => Promise<A>,
  second: (signal: AbortSignal) => Promise<B>,
): Promise<[A, B]> {
  const failed = new AbortController();
  const either = signal ? AbortSignal.any([signal, failed.signal]) : failed.signal;
  const failing = (error: unknown) => {
    failed.abort(error);
    throw error;
  };
  const [a, b] = [first(either).catch(failing), second(either).catch(failing)];
  await Promise.allSettled([a, b]);
  // The reason of the first abort is the first error.
  either.throwIfAborted();
  return Promise.all([a, b]);
}
