import { migrationsDirectory } from '../../functions/migrate/directory.ts';
import { readMigrations } from '../../functions/migrate/files.ts';
import { type Applied, lookAtHistory, pendingOf } from '../../functions/migrate/history.ts';
import { migrate } from '../../functions/migrate/runner.ts';
import { CliError, EXIT } from '../cli-error.ts';
import { showJson } from '../json.ts';
import { type Column, showTable } from '../table.ts';
import { terminal } from '../terminal.ts';
import { namesDatabase, withMigrator } from './connect.ts';
import { scriptOf } from './script.ts';
import { isCurrent, type MigrationStatus, statusOf } from './status.ts';

export interface MigrateCommandOptions {
  readonly status?: boolean;
  readonly print?: boolean;
  readonly to?: number;
  readonly databaseUrl?: string;
  readonly json?: boolean;
}

/** Seconds to wait for a database that is starting, to migrate it. To look at one that should be there, less. */
const PATIENCE = 60;
const LOOK_PATIENCE = 5;

export async function migrateCommand(options: MigrateCommandOptions): Promise<void> {
  if (options.status && options.print) throw new CliError('Give --status or --print, not both.', EXIT.usage);
  if (options.status && options.to !== undefined) throw new CliError('--status takes no --to.', EXIT.usage);
  if (options.status) return await showStatus(options);
  if (options.print) return await print(options);
  return await apply(options);
}

async function apply({ databaseUrl, to, json }: MigrateCommandOptions): Promise<void> {
  const took = new Map<string, number>();
  const result = await withMigrator(databaseUrl, PATIENCE, (client) =>
    migrate(client, {
      directory: migrationsDirectory(),
      to,
      onProgress: (progress) => {
        if (progress.name === 'migration.applied') took.set(progress.file, progress.durationMs);
        else terminal.say(`${progress.file}: somebody holds a lock, again in ${progress.delayMs} ms`);
      },
    }),
  );
  if (json) {
    showJson(result);
    return;
  }
  const { applied, version, ahead } = result;
  // Told when it is sure: one that fails, or that waits for a lock, takes back all of them.
  for (const file of applied) terminal.show(`${file}\t${took.get(file)} ms`);
  const done = applied.length === 0 ? 'nothing to do' : `applied ${applied.length}`;
  terminal.say(`${done}; the schema is at version ${version}${ahead ? ', newer than this code' : ''}`);
}

async function showStatus({ databaseUrl, json }: MigrateCommandOptions): Promise<void> {
  const status = statusOf(await readMigrations(migrationsDirectory()), await historyOf(databaseUrl));
  if (json) showJson(status);
  else {
    showTable(COLUMNS, status.migrations);
    const { version, newest } = status;
    terminal.say(
      `The schema is at version ${version}; this code has ${newest}${version > newest ? ', which is fine' : ''}.`,
    );
  }
  if (isCurrent(status)) return;
  const isChanged = status.migrations.some(({ state }) => state === 'changed');
  throw new CliError(
    isChanged
      ? 'A migration was changed after it was applied: put its file back as it was (a fresh install of this version has it).'
      : 'Migrations are pending: npx millrace migrate applies them.',
  );
}

async function print({ databaseUrl, to, json }: MigrateCommandOptions): Promise<void> {
  const migrations = await readMigrations(migrationsDirectory());
  const history = namesDatabase(databaseUrl) ? await historyOf(databaseUrl) : [];
  const { pending, version } = pendingOf(migrations, history, to);
  const sql = scriptOf(pending);
  if (json) showJson({ files: pending.map(({ file }) => file), version, sql });
  else terminal.show(sql.trimEnd());
}

function historyOf(databaseUrl: string | undefined): Promise<Applied[]> {
  return withMigrator(databaseUrl, LOOK_PATIENCE, lookAtHistory);
}

const COLUMNS: readonly Column<MigrationStatus>[] = [
  { title: 'file', of: ({ file }) => file },
  { title: 'state', of: ({ state }) => state, paint: (text, { state }) => paintOf(state)(text) },
  { title: 'applied', of: ({ applied_at }) => applied_at },
];

function paintOf(state: MigrationStatus['state']): (text: string) => string {
  const { red, yellow, green } = terminal.paint;
  if (state === 'changed') return red;
  return state === 'pending' ? yellow : green;
}
