import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { closedNotes, opened } from './access.ts';
import { readApp } from './app.ts';
import { assemblyOf, type Source } from './assembly.ts';
import { bothOrNeither } from './both-or-neither.ts';
import { LocalDatabase } from './database.ts';
import { openGateway } from './gateway.ts';
import { openInvocations } from './invocations.ts';
import { lock } from './lock.ts';
import { startOf } from './process-identity.ts';
import { Processes } from './processes.ts';
import { appFolders } from './reload/app-folders.ts';
import { Reloading } from './reload/reloading.ts';
import type { Reporter } from './reporter.ts';
import { Announcement } from './runtime-file.ts';
import { Serving } from './serving.ts';
import type { Settings } from './settings.ts';
import { StartError } from './start-error.ts';
import { Teardown } from './teardown.ts';
import { Threads } from './threads.ts';
import { TOKENS_FILE } from './tokens-file.ts';

export interface RuntimeOptions extends Settings, Source {
  /** Folder of the project; data go to `.millrace/` in it. */
  readonly projectDirectory: string;
  /** Which queue, where the app has several: the path of its construct, or its stack. */
  readonly stack?: string | undefined;
  readonly report: Reporter;
  /** Gives a start up: whatever is up already is stopped, and startRuntime throws `stopped`. */
  readonly signal?: AbortSignal;
}

export interface Runtime {
  readonly url: string;
  readonly databaseUrl: string;
  /** Whether the template has an HTTP API; if not, every request is answered 404. */
  readonly hasApi: boolean;
  /** Those of the contracts, as they were at the start. */
  readonly kinds: readonly string[];
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

  const [databaseUrl, assembly] = await bothOrNeither(
    options.signal,
    (signal) => database.start(signal),
    (signal) => assemblyOf(projectDirectory, join(directory, 'cdk.out'), options, signal),
  );
  const own = {
    DATABASE_URL: databaseUrl,
    AWS_ENDPOINT_URL_LAMBDA: invocations.url,
    ...(options.auth ? { TOKENS_FILE: join(directory, TOKENS_FILE) } : { OPEN_ROLE: 'operator' as const }),
  };
  const app = await readApp(assembly, own, { stack: options.stack });
  for (const note of [...app.notes, ...(options.auth ? closedNotes(app.routes) : [])]) report.line(note);
  const serving = new Serving(options.auth ? app : opened(app), {
    ...{ gateway, invocations, threads, processes, tickSeconds },
    onEnd: report.ended,
  });
  teardown.add(async () => serving.stop());
  const reloading = await Reloading.start({
    bundles: serving.directories,
    projectDirectory,
    appFolders: options.modules ? [] : await appFolders(projectDirectory, options.app),
    line: report.line,
    onBuilt: (directories) => serving.renew(directories),
  });
  teardown.add(async () => reloading?.close());
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
    hasApi: app.routes.length > 0,
    kinds: app.queue?.kinds ?? [],
    lost: database.lost,
    tick: () => serving.tick(),
    stop: () => teardown.run(),
    hurry: () => {
      processes.hurry();
      gateway.hurry();
    },
  };
}

function unwritable(cause: unknown): never {
  const { code, message } = cause as NodeJS.ErrnoException;
  const remedy = code === 'EEXIST' ? 'move that file away' : 'make its parent writable';
  throw new StartError('not_writable', `The folder for data cannot be made (${message}): ${remedy}.`, { cause });
}
