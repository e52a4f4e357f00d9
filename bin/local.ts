/** `npm start`: the whole of Millrace on this machine. */
import { whenOrphaned } from '../local/orphan.ts';
import { reporter } from '../local/reporter.ts';
import { type Runtime, startRuntime } from '../local/runtime.ts';
import { readSettings, type Settings } from '../local/settings.ts';
import { onStopSignal } from '../local/stop-signals.ts';

const abort = new AbortController();
let runtime: Runtime | undefined;

onStopSignal(stop);
// Who reads the output may go (`npm start | head`, a closed terminal): that is a stop, not a crash.
for (const stream of [process.stdout, process.stderr]) stream.on('error', gone);
whenOrphaned(process.env, gone);
// `kill -USR2 <pid>`: ticks now instead of within the minute.
process.on('SIGUSR2', () => runtime?.tick());
// Started by the demo: when that dies, so does this.
process.once('disconnect', stop);

try {
  const settings = readSettings(process.env);
  runtime = await startRuntime({
    ...settings,
    projectDirectory: process.cwd(),
    report: reporter(console.log, { verbose: process.env.LOG_LEVEL === 'debug' }),
    signal: abort.signal,
  });
  console.log(`millrace ready ${runtime.url}`);
  for (const line of hints(runtime, settings)) console.log(line);
  console.log('Ctrl-C drains and stops.');
  process.send?.('ready');
  void runtime.lost.then(async (error) => {
    await runtime?.stop().catch(() => {});
    fail(error);
  });
} catch (error) {
  fail(error);
}

/** What to do now. */
function hints({ url, hasApi }: Runtime, { auth }: Settings): string[] {
  if (!hasApi)
    return ['there is no HTTP API: jobs come in by SQL, into the database that .millrace/runtime.json names'];
  const authorization = auth ? '-H "authorization: Bearer $TOKEN" ' : '';
  return [
    ...(auth ? ['it wants tokens:  TOKEN=$(npm run -s token -- create --name me --role operator)'] : []),
    `try it:  curl ${url}/jobs ${authorization}-H 'content-type: application/json' -d '{"kind":"hello.greet","payload":{"name":"Ada"}}'`,
  ];
}

function gone(): void {
  if (!abort.signal.aborted) stop();
}

function stop(): void {
  if (abort.signal.aborted) {
    runtime?.hurry();
  } else if (runtime !== undefined) {
    console.log('draining (Ctrl-C again hurries)');
    runtime.stop().then(() => process.exit(0), fail);
  }
  abort.abort();
}

function fail(error: unknown): never {
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  console.error(process.env.LOG_LEVEL === 'debug' ? stack : message);
  process.exit(1);
}
