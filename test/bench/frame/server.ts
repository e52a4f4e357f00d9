import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from '../../../local/postgres.ts';
import { inDatabase, onServer, openClient } from '../../support/database.ts';

/** The throwaway Postgres of a benchmark. */
export interface Server {
  /** `postgres://…`, superuser. */
  readonly url: string;
  /** Of the postmaster: its children are the backends whose CPU is counted. */
  readonly pid: number;
  /** `18.4` */
  readonly version: string;
  /** Settings as they are said in the output. */
  readonly settings: Readonly<Record<string, string>>;
  /** A database of its own. `template`: one to copy, to which nobody may be connected. */
  database(template?: string): Promise<BenchDatabase>;
  /** Before what is measured, so that none falls into it. */
  checkpoint(): Promise<void>;
  /** Also removes its data. Can be called again. */
  stop(): Promise<void>;
}

export interface BenchDatabase {
  readonly url: string;
  readonly name: string;
  drop(): Promise<void>;
}

/** Durable, as a queue needs it; sized so that no checkpoint falls into one round and not into the next. */
const SETTINGS = {
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  autovacuum: 'on',
  shared_buffers: '1GB',
  max_wal_size: '8GB',
  checkpoint_timeout: '30min',
  max_connections: '200',
};

interface ServerOptions {
  /** Settings beyond those, such as `shared_preload_libraries` for a profile. */
  readonly extra: Readonly<Record<string, string>>;
  /** Without what takes longer than it is worth where nothing is measured: checkpoints, and removing a database, which waits for one. */
  readonly quick: boolean;
}

export async function startServer({ extra, quick }: ServerOptions): Promise<Server> {
  const directory = await mkdtemp(join(tmpdir(), 'millrace-bench-'));
  const settings = { ...SETTINGS, ...extra };
  const remove = () => rm(directory, { recursive: true, force: true });
  try {
    const { url, pid, version, stop } = await startPostgres({ directory, settings });
    let stopped: Promise<void> | undefined;
    return {
      url,
      pid,
      version,
      settings,
      database: async (template = 'template0') => {
        const name = `bench_${randomBytes(6).toString('hex')}`;
        await onServer(url, `CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY ${await strategy(url, template)}`);
        const drop = () => onServer(url, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
        return { url: inDatabase(url, name), name, drop: quick ? async () => {} : drop };
      },
      checkpoint: () => (quick ? Promise.resolve() : onServer(url, 'CHECKPOINT')),
      stop: () => {
        stopped ??= stop().then(remove);
        return stopped;
      },
    };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** A large one is copied file by file, at the price of two checkpoints, and not through the log. */
async function strategy(serverUrl: string, template: string): Promise<'file_copy' | 'wal_log'> {
  const client = await openClient(serverUrl);
  const { rows } = await client
    .query<{ large: boolean }>('SELECT pg_database_size($1::name) > 100e6 AS large', [template])
    .finally(() => client.end());
  return rows[0]?.large ? 'file_copy' : 'wal_log';
}
