/** `npm run sam`: the same in containers, by Docker and the AWS SAM CLI. See docs/sam.md. */
import { whenOrphaned } from '../local/orphan.ts';
import { reporter } from '../local/reporter.ts';
import { type Sam, startSam } from '../local/sam/sam.ts';
import { readSettings } from '../local/settings.ts';
import { onStopSignal } from '../local/stop-signals.ts';

const abort = new AbortController();
let sam: Sam | undefined;

onStopSignal(stop);
// Who reads the output may go (`npm run sam | head`, a closed terminal): containers must not outlive that.
for (const stream of [process.stdout, process.stderr]) stream.on('error', gone);
whenOrphaned(process.env, gone);

try {
  const { port, tickSeconds } = readSettings(process.env);
  const verbose = process.env.LOG_LEVEL === 'debug';
  sam = await startSam({
    projectDirectory: process.cwd(),
    port: port || 3000,
    postgresPort: postgresPort(process.env.MILLRACE_SAM_POSTGRES_PORT),
    tickSeconds,
    report: reporter(console.log, { verbose }),
    verbose,
    signal: abort.signal,
  });
  console.log(`millrace ready ${sam.url}`);
  console.log(
    'it wants tokens:  npm run -s token -- create --file .millrace/sam/tokens.json --name me --role operator',
  );
  console.log(
    `its database:  ${sam.databaseUrl.replace(/:[^:@]+@/, ':***@')} (the password is in .millrace/sam/password)`,
  );
  console.log('Ctrl-C stops all of it; the data stay.');
  void sam.lost.then((error) => {
    if (!abort.signal.aborted) void sam?.stop().finally(() => fail(error));
  });
} catch (error) {
  fail(error);
}

function postgresPort(value: string | undefined): number {
  const port = Number(value || 5433);
  if (Number.isInteger(port) && port >= 1 && port <= 65_535) return port;
  throw new Error(
    `MILLRACE_SAM_POSTGRES_PORT is "${value}": give a whole number from 1 to 65535, or unset it, which is 5433.`,
  );
}

function gone(): void {
  if (!abort.signal.aborted) stop();
}

function stop(): void {
  if (abort.signal.aborted) {
    sam?.hurry();
  } else if (sam !== undefined) {
    console.log('stopping (Ctrl-C again hurries)');
    sam.stop().then(() => process.exit(0), fail);
  }
  abort.abort();
}

function fail(error: unknown): never {
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  console.error(process.env.LOG_LEVEL === 'debug' ? stack : message);
  process.exit(1);
}
