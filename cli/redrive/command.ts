import type { RedriveFilter } from '../../client/redrive.ts';
import { CliError, EXIT } from '../cli-error.ts';
import { eachId } from '../each-id.ts';
import { withQueue } from '../queue.ts';
import { redriveFiltered } from './filtered.ts';
import { filterOf, type RedriveOptions } from './options.ts';

export async function redriveCommand(ids: readonly string[], options: RedriveOptions): Promise<void> {
  const filter = filterOf(options);
  const { dryRun, after, limit } = options;
  if (ids.length > 0 && (filter !== undefined || dryRun || after !== undefined || limit !== undefined)) {
    throw new CliError('Give ids, or filters, not both; --dry-run, --limit and --after go with filters.', EXIT.usage);
  }
  if (options.all && filter?.deadAfter?.valueOf() !== 0) {
    throw new CliError('--all goes alone: leave it out, or the filters.', EXIT.usage);
  }
  if (ids.length > 0) return await redriveEach(ids, options);
  if (filter !== undefined) return await redriveByFilter(filter, options);
  throw new CliError(
    'Which jobs? Give their ids, or --kind, --error, --dead-after, --dead-before, or --all.',
    EXIT.usage,
  );
}

async function redriveEach(ids: readonly string[], options: RedriveOptions): Promise<void> {
  await withQueue(options, (queue) =>
    eachId(ids, { json: options.json, done: 'redriven' }, async (id) => {
      await queue.redrive(id);
      return 'redriven';
    }),
  );
}

async function redriveByFilter(filter: RedriveFilter, options: RedriveOptions): Promise<void> {
  try {
    await withQueue(options, (queue) => redriveFiltered(queue, filter, options));
  } catch (error) {
    if (!(error instanceof CliError) || error.code !== 'invalid-cursor') throw error;
    // What API and database say of it speaks of requests.
    throw new CliError(
      '--after takes what an interrupted redrive has printed, with the same filters: leave it out to begin with the oldest.',
      EXIT.usage,
      { code: error.code, cause: error },
    );
  }
}
