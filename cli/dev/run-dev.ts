import { whenOrphaned } from '../../local/orphan.ts';
import { reporter } from '../../local/reporter.ts';
import { type Runtime, type RuntimeOptions, startRuntime } from '../../local/runtime.ts';
import { onStopSignal } from '../../local/stop-signals.ts';
import { EXIT, type ExitCode } from '../cli-error.ts';
import { hints } from './hints.ts';
import { openScreen, type Screen } from './screen.ts';

export interface DevSettings extends Omit<RuntimeOptions, 'projectDirectory' | 'report' | 'signal'> {
  /** How the other commands are called here, for the hints. */
  readonly command: string;
}

/** The whole of Millrace on this machine, in the folder of this process. Resolves the exit code once it has stopped. */
export async function runDev(settings: DevSettings): Promise<ExitCode> {
  const screen = openScreen();
  const abort = new AbortController();
  let runtime: Runtime | undefined;
  const stop = () => {
    if (abort.signal.aborted) {
      runtime?.hurry();
      return;
    }
    if (runtime !== undefined) screen.line('draining (Ctrl-C again hurries)');
    abort.abort();
  };
  const gone = () => {
    if (!abort.signal.aborted) stop();
  };
  onStopSignal(stop);
  // Who reads the output may go (`npm start | head`, a closed terminal): that is a stop, not a crash.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', gone);
  whenOrphaned(process.env, gone);
  // `kill -USR2 <pid>`: ticks now instead of within the minute.
  process.on('SIGUSR2', () => runtime?.tick());
  // Started by the demo: when that dies, so does this.
  process.once('disconnect', stop);
  try {
    runtime = await startRuntime({
      ...settings,
      projectDirectory: process.cwd(),
      report: reporter(screen.line, { verbose: process.env.LOG_LEVEL === 'debug', look: screen.look }),
      signal: abort.signal,
    });
    const { url, databaseUrl } = runtime;
    screen.line(`millrace ready ${url}`);
    for (const line of hints(runtime, settings)) screen.line(line);
    screen.line('Ctrl-C drains and stops.');
    screen.watch({ url, databaseUrl });
    process.send?.('ready');
    await untilStopped(runtime, abort.signal, screen);
    return EXIT.ok;
  } catch (error) {
    await screen.close();
    const { message, stack } = error instanceof Error ? error : new Error(String(error));
    process.stderr.write(`${process.env.LOG_LEVEL === 'debug' ? stack : message}\n`);
    return EXIT.failed;
  } finally {
    await screen.close();
  }
}

/** @throws StartError when it could not go on */
async function untilStopped(runtime: Runtime, signal: AbortSignal, screen: Screen): Promise<void> {
  const asked = new Promise<undefined>((resolve) => {
    if (signal.aborted) resolve(undefined);
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  const lost = await Promise.race([asked, runtime.lost]);
  // It looks into a database that is about to go.
  await screen.close();
  await runtime.stop().catch((error: unknown) => {
    throw lost ?? error;
  });
  if (lost !== undefined) throw lost;
}
