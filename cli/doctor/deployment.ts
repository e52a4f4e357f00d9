import { once } from '../../functions/lambda/once.ts';
import type { Db } from '../../functions/queue/db.ts';
import { readiness } from '../../functions/queue/readiness.ts';
import { type Vitals, vitals } from '../../functions/queue/vitals.ts';
import type { QueueAccess } from '../queue.ts';
import { httpQueue } from '../queue-http.ts';
import { sqlQueue } from '../queue-sql.ts';
import type { HttpTarget, SqlTarget } from '../target.ts';
import { flawOf } from './address.ts';
import { type Answer, Api } from './api.ts';
import { AskedDatabase, type Server } from './asked-database.ts';
import { NotKnownError } from './finding.ts';
import type { Limits } from './limits.ts';
import { type Rights, rightsAt } from './rights.ts';
import { type State, stateOfAnswer, stateOfDatabase, vitalsOfAnswer } from './state.ts';

export interface Targets {
  readonly http?: HttpTarget | undefined;
  readonly sql?: SqlTarget | undefined;
}

export interface DoctorOptions {
  readonly queues: readonly string[];
  /** How many canaries each queue gets, one after the other. */
  readonly canaries: number;
  /** Seconds that a canary may take. */
  readonly deadlineSeconds: number;
  readonly limits: Limits;
  /** When it aborts, canaries under way are cancelled. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * What is known of a deployment. Each fact is asked for once, however many checks rest on it; one that is not to be had is a
 * NotKnownError.
 */
export class Deployment {
  readonly http: HttpTarget | undefined;
  readonly sql: SqlTarget | undefined;
  readonly options: DoctorOptions;
  readonly #closing: (() => unknown)[] = [];

  constructor({ http, sql }: Targets, options: DoctorOptions) {
    this.http = http;
    this.sql = sql;
    this.options = options;
  }

  /** The API, asked or not. */
  readonly api = once((): Api => {
    if (this.http === undefined) throw new NotKnownError('takes --url');
    if (flawOf(this.http.url) !== undefined) throw new NotKnownError('takes a URL that can be used');
    const api = new Api(new URL(this.http.url), this.http.token, this.options.signal);
    this.#closing.push(() => api.close());
    return api;
  });

  readonly health = once((): Promise<Answer> => this.api().send('GET', '/health', { token: null }));

  /** The API, which has answered as one of Millrace does: nobody else gets the token. */
  readonly answering = once(async (): Promise<Api> => {
    const api = this.api();
    const { body } = await this.health().catch(() => ({ body: {} as Answer['body'] }));
    if (body.status !== 'ok') throw new NotKnownError('takes an API that answers');
    return api;
  });

  /** What the caller may do there. */
  readonly rights = once(async (): Promise<Rights> => rightsAt(await this.answering()));

  readonly ready = once(async (): Promise<Answer> => (await this.answering()).send('GET', '/ready?include=database'));

  readonly #database = once((): AskedDatabase => {
    if (this.sql === undefined) throw new NotKnownError('takes DATABASE_URL');
    const database = new AskedDatabase(this.sql);
    this.#closing.push(() => database.close());
    return database;
  });

  /** Who and what answers there. @throws CliError if nobody does */
  readonly server = once(async (): Promise<Server> => this.#database().server());

  /** Runs statements that change nothing. @throws NotKnownError if the database does not answer, CliError for what it says */
  async ask<T>(statements: (db: Db) => Promise<T>): Promise<T> {
    const database = this.#database();
    await this.server().catch(() => {
      throw new NotKnownError('takes a database that answers');
    });
    return database.ask(statements);
  }

  /** How the queue is: as the API says, or else the database. */
  readonly state = once(async (): Promise<State> => {
    const answer = await this.ready().catch(() => undefined);
    if (answer?.status === 200) return stateOfAnswer(answer);
    if (this.sql === undefined) throw new NotKnownError('takes 200 of GET /ready');
    const found = await this.ask(readiness);
    const { aheadMs } = await this.server();
    return stateOfDatabase(found, Date.now() + aheadMs);
  });

  /** How the database is, likewise. */
  readonly vitals = once(async (): Promise<Vitals> => {
    const answer = await this.ready().catch(() => undefined);
    const told = answer?.status === 200 ? vitalsOfAnswer(answer) : undefined;
    if (told !== undefined) return told;
    if (this.sql !== undefined) return this.ask(vitals);
    throw new NotKnownError(
      answer?.status === 200 ? 'takes a deployment of this release, or DATABASE_URL' : 'takes 200 of GET /ready',
    );
  });

  /** Ways to put jobs in and to look at them. By SQL each has a connection of its own, for one party at a time. */
  readonly byHttp = once((): QueueAccess => {
    if (this.http === undefined) throw new NotKnownError('takes --url');
    return this.#kept(httpQueue(this.http));
  });
  bySql(): QueueAccess {
    if (this.sql === undefined) throw new NotKnownError('takes DATABASE_URL');
    return this.#kept(sqlQueue(this.sql));
  }

  async close(): Promise<void> {
    await Promise.all(this.#closing.map((close) => close()));
  }

  #kept(queue: QueueAccess): QueueAccess {
    this.#closing.push(() => queue.close());
    return queue;
  }
}
