import type { Migration } from '../../functions/migrate/files.ts';
import type { Applied } from '../../functions/migrate/history.ts';

export interface MigrationStatus {
  readonly version: number;
  readonly file: string;
  /** `changed`: the file is not what was applied. `newer`: applied, and this code does not know it, which is fine. */
  readonly state: 'applied' | 'pending' | 'changed' | 'newer';
  readonly applied_at: string | null;
}

export interface SchemaStatus {
  /** The newest that the database has; 0 before the first. */
  readonly version: number;
  /** The newest here. */
  readonly newest: number;
  readonly migrations: readonly MigrationStatus[];
}

/** Compares what a database has applied with what lies here. */
export function statusOf(migrations: readonly Migration[], history: readonly Applied[]): SchemaStatus {
  const applied = new Map(history.map((one) => [one.version, one]));
  const ours = migrations.map(({ version, file, checksum }): MigrationStatus => {
    const there = applied.get(version);
    if (there === undefined) return { version, file, state: 'pending', applied_at: null };
    const state = there.checksum === checksum ? 'applied' : 'changed';
    return { version, file, state, applied_at: there.applied_at };
  });
  const newer = history.filter(({ version }) => version > migrations.length);
  return {
    version: history.at(-1)?.version ?? 0,
    newest: migrations.length,
    migrations: [
      ...ours,
      ...newer.map(({ version, file, applied_at }) => ({ version, file, state: 'newer' as const, applied_at })),
    ],
  };
}

/** Whether there is nothing to do about it. */
export function isCurrent({ migrations }: SchemaStatus): boolean {
  return migrations.every(({ state }) => state === 'applied' || state === 'newer');
}
