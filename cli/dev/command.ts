import { readSettings } from '../../local/settings.ts';
import { CliError, EXIT } from '../cli-error.ts';
import { type DevSettings, runDev } from './run-dev.ts';

export interface DevOptions {
  readonly port?: number;
  readonly app?: string;
  readonly stack?: string;
  readonly contracts?: string;
  readonly processors?: string;
  readonly tickSeconds?: number;
  readonly auth?: boolean;
}

/** Runs until it is told to stop; then the process ends. `command`: how the other commands are called here. */
export async function devCommand(options: DevOptions, command = 'npx millrace'): Promise<void> {
  const settings = { ...settingsOf(options), command };
  // Who reads the output may go: that is a stop, which drains, and not the end that it is for other commands.
  for (const stream of [process.stdout, process.stderr]) stream.removeAllListeners('error');
  process.exit(await runDev(settings));
}

/** What an option says counts more than the environment. */
function settingsOf({
  port,
  app,
  stack,
  contracts,
  processors,
  tickSeconds,
  auth,
}: DevOptions): Omit<DevSettings, 'command'> {
  if ((contracts === undefined) !== (processors === undefined)) {
    throw new CliError('--contracts and --processors go together: give both modules, or neither.', EXIT.usage);
  }
  const own = readSettings(process.env);
  return {
    ...own,
    port: port ?? own.port,
    tickSeconds: tickSeconds ?? own.tickSeconds,
    auth: auth ?? own.auth,
    app,
    stack,
    modules: contracts !== undefined && processors !== undefined ? { contracts, processors } : undefined,
  };
}
