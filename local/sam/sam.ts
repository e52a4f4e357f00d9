import { unwatchFile, watchFile } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isOpen } from '../is-open.ts';
import { lock } from '../lock.ts';
import type { Reporter } from '../reporter.ts';
import type { Settings } from '../settings.ts';
import { Teardown } from '../teardown.ts';
import { assemble, type SamAssembly } from './assembly.ts';
import { type Command, command } from './command.ts';
import { NETWORK } from './left-behind.ts';
import { lastOf, migratePostgres, startPostgres } from './postgres.ts';
import { SamError } from './sam-error.ts';
import { startTicks } from './ticks.ts';
import { checkTools } from './tools.ts';

/** Milliseconds between looks at the file with the tokens. */
const LOOK_MS = 500;
const POLL_MS = 100;

export interface SamSettings extends Pick<Settings, 'port' | 'tickSeconds'> {
  /** Folder with `cdk.json`; files go to `.millrace/sam/` in it. */
  readonly projectDirectory: string;
  /** Of Postgres, on loopback. */
  readonly postgresPort: number;
  readonly report: Reporter;
  /** Shows what Docker and SAM say as well. */
  readonly verbose: boolean;
  readonly signal: AbortSignal;
}

export interface Sam {
  readonly url: string;
  readonly databaseUrl: string;
  /** Resolves when SAM's API ended by itself. */
  readonly lost: Promise<SamError>;
  stop(): Promise<void>;
  /** Shortens a stop under way: what runs is killed. Docker still removes the containers, Postgres's among them. */
  hurry(): void;
}

/**
 * Everything in containers on this machine: Postgres by Docker, the API and each tick by SAM.
 * Resolves when all is up. @throws SamError or StartError, with nothing left running
 */
export async function startSam(settings: SamSettings): Promise<Sam> {
  const teardown = new Teardown();
  try {
    const sam = await start(settings, teardown);
    settings.signal.throwIfAborted();
    return sam;
  } catch (error) {
    await teardown.run();
    throw settings.signal.aborted ? new SamError('stopped', 'Stopped before it was up.') : error;
  }
}

async function start(settings: SamSettings, teardown: Teardown): Promise<Sam> {
  const { projectDirectory, report, signal, postgresPort } = settings;
  const said = (line: string) => {
    if (settings.verbose) report.line(line);
  };
  await checkTools(projectDirectory, signal);
  const directory = join(projectDirectory, '.millrace', 'sam');
  await mkdir(directory, { recursive: true });
  // Another one here would make anew what the containers of the first run on, and at its end take Postgres with it.
  teardown.add(await lock(directory));
  await checkPort(settings.port);
  report.line('synthesizes the app');
  const assembly = await assemble(projectDirectory, directory, signal);
  signal.throwIfAborted();

  report.line('starts Postgres');
  const options = { projectDirectory, files: assembly.files, port: postgresPort, onLine: said, signal };
  const postgres = await startPostgres(options);
  teardown.add(() => postgres.stop());
  signal.throwIfAborted();
  await migratePostgres(postgres, options);
  signal.throwIfAborted();

  const sam = (...args: string[]) => samCommand(args, settings, assembly);
  const url = `http://127.0.0.1:${settings.port}`;
  report.line('starts the API');
  const api = sam('start-api', '--host', '127.0.0.1', '--port', String(settings.port), '--warm-containers', 'LAZY');
  teardown.add(() => api.interrupt());
  await whenOpen(api, settings.port, signal);

  const ticks = await startTicks({
    directory,
    schedules: assembly.schedules,
    tickSeconds: settings.tickSeconds,
    invoke: (id, eventFile) => sam('invoke', id, '--event', eventFile),
  });
  teardown.add(() => ticks.stop());
  watchFile(assembly.files.tokens, { interval: LOOK_MS }, () => void assembly.shareTokens().catch(() => {}));
  teardown.add(async () => unwatchFile(assembly.files.tokens));
  return {
    url,
    databaseUrl: postgres.url,
    lost: api.ended.then(({ code, output }) => ended(code, output)),
    stop: () => teardown.run(),
    hurry: () => {
      api.kill();
      ticks.kill();
    },
  };
}

/** `sam local …` on what was assembled. */
function samCommand(
  [subcommand = '', ...args]: readonly string[],
  { projectDirectory, report, verbose }: SamSettings,
  { template, environment }: SamAssembly,
): Command {
  const shared = ['--template', template, '--env-vars', environment, '--docker-network', NETWORK];
  const from = { name: subcommand === 'invoke' ? 'tick' : 'api' };
  return command('sam', ['local', subcommand, ...args, ...shared], {
    cwd: projectDirectory,
    // What its functions log is JSON; the rest is SAM's own talk.
    onLine: (line) => {
      if (line.startsWith('{"') || verbose) report.functionLine(from, line);
    },
  });
}

/** Were it taken, whoever has it would be taken for SAM. @throws SamError `api` */
async function checkPort(port: number): Promise<void> {
  if (!(await isOpen(port))) return;
  throw new SamError('api', `Something listens on port ${port} already: stop it, or choose another with PORT=3001.`);
}

/** Resolves when somebody listens there. */
async function whenOpen(api: Command, port: number, signal: AbortSignal): Promise<void> {
  let failure: SamError | undefined;
  void api.ended.then(({ code, output }) => {
    failure = ended(code, output);
  });
  while (!(await isOpen(port))) {
    signal.throwIfAborted();
    if (failure) throw failure;
    await sleep(POLL_MS);
  }
}

function ended(code: number | string, output: string): SamError {
  return new SamError('api', `SAM's API ended (sam local start-api: ${code}): ${lastOf(output)}`);
}
