import { connector } from '../functions/lambda/connect.ts';
import { migrate } from '../functions/migrate/runner.ts';
import type { Db } from '../functions/queue/db.ts';
import { databaseError, embeddedError } from './database-error.ts';
import { startPostgres } from './postgres.ts';
import { deferred } from './promise.ts';
import type { Reporter } from './reporter.ts';
import { StartError } from './start-error.ts';

const MIGRATIONS = new URL('../migrations/', import.meta.url);
/** Postgres 15, the oldest that the migrations are tested on. */
const OLDEST = 150_000;

/** The embedded Postgres, or the one that was given. */
export class LocalDatabase {
  readonly #given: string | undefined;
  readonly #directory: string;
  readonly #report: Reporter;
  #stop: (() => Promise<void>) | undefined;
  readonly #lost = deferred<StartError>();

  /** `directory` keeps the data of the embedded one. */
  constructor(given: string | undefined, directory: string, report: Reporter) {
    this.#given = given;
    this.#directory = directory;
    this.#report = report;
  }

  /** Resolves the URL once the schema is up to date. */
  async start(signal: AbortSignal): Promise<string> {
    const url = this.#given ?? (await this.#embedded());
    signal.throwIfAborted();
    const { applied } = await prepareDatabase(url, this.#given === undefined ? this.#directory : undefined);
    if (applied.length > 0) this.#report.line(`applied ${applied.join(', ')}`);
    return url;
  }

  /** Resolves when the embedded server ends though nobody stopped it. */
  get lost(): Promise<StartError> {
    return this.#lost.promise;
  }

  async stop(): Promise<void> {
    await this.#stop?.();
  }

  async #embedded(): Promise<string> {
    const postgres = await startPostgres({ directory: this.#directory, notice: this.#report.line });
    let stopping = false;
    this.#stop = () => {
      stopping = true;
      return postgres.stop();
    };
    void postgres.ended.then(() => {
      if (!stopping)
        this.#lost.resolve(
          new StartError(
            'database_lost',
            `The embedded Postgres ended; ${this.#directory}/postgres.log says why. Start again: it recovers.`,
          ),
        );
    });
    return postgres.url;
  }
}

/**
 * Connects once and brings the schema up to date. `directory`: of the embedded one.
 * @throws StartError `database_unusable`: what is wrong with the server, and what to do
 */
async function prepareDatabase(url: string, directory?: string): Promise<{ applied: string[] }> {
  const connect = connector({ DATABASE_URL: url, DATABASE_CA_FILE: process.env.DATABASE_CA_FILE }, 'local');
  const client = await connect().catch((error: unknown) => {
    throw directory === undefined ? databaseError(error, url) : embeddedError(error, directory);
  });
  try {
    await checkVersion(client);
    const { applied } = await migrate(client, { directory: MIGRATIONS });
    return { applied };
  } catch (error) {
    throw directory === undefined ? databaseError(error, url) : embeddedError(error, directory);
  } finally {
    await client.end().catch(() => {});
  }
}

async function checkVersion(db: Db): Promise<void> {
  const { rows } = await db.query<{ number: number; name: string }>(
    `SELECT current_setting('server_version_num')::int AS number,
            current_setting('server_version') AS name`,
  );
  const version = rows[0];
  if (version !== undefined && version.number >= OLDEST) return;
  throw new StartError(
    'database_unusable',
    `The database is Postgres ${version?.name}, and Millrace needs 15 or later: point DATABASE_URL at a newer one, or unset it to use the embedded Postgres.`,
  );
}
