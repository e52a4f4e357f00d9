import { CliError, EXIT, type ExitCode } from './cli-error.ts';
import { json as oneLine } from './json.ts';
import { terminal } from './terminal.ts';

export interface EachOptions {
  /** One JSON object a line, failures too. */
  readonly json?: boolean | undefined;
  /** `cancelled`: for "2 of 3 were not cancelled". */
  readonly done: string;
}

/** From bad to worse. */
const SEVERITY: readonly ExitCode[] = [EXIT.ok, EXIT.notThere, EXIT.usage, EXIT.failed, EXIT.unreachable];

/**
 * Acts on one job after the other and tells of each, whatever became of those before; only when the queue cannot be reached are
 * the rest not tried. `act` resolves the word for what it did.
 * @throws CliError with the worst code, if any failed
 */
export async function eachId(
  ids: readonly string[],
  { json, done }: EachOptions,
  act: (id: string) => Promise<string>,
): Promise<void> {
  const failures: CliError[] = [];
  let tried = 0;
  for (const id of ids) {
    tried++;
    try {
      const outcome = await act(id);
      terminal.show(json ? oneLine({ id, outcome }) : `${id}\t${outcome}`);
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      if (json) terminal.show(oneLine({ id, outcome: 'failed', error: { code: error.code, message: error.message } }));
      if (ids.length === 1) throw error;
      if (!json) terminal.say(`${id}: ${error.message}`);
      failures.push(error);
      if (error.exitCode === EXIT.unreachable) break;
    }
  }
  if (failures.length > 0) throw sumOf(failures, ids.length, tried, done);
}

function sumOf(failures: readonly CliError[], all: number, tried: number, done: string): CliError {
  const worst = failures.reduce((one, other) => (severityOf(other) > severityOf(one) ? other : one));
  const rest = tried < all ? `, and ${all - tried} were not tried` : '';
  return new CliError(`${failures.length} of ${all} could not be ${done}${rest}.`, worst.exitCode, {
    code: worst.code,
  });
}

function severityOf({ exitCode }: CliError): number {
  return SEVERITY.indexOf(exitCode);
}
