import { type Call, pathOf } from './request.ts';

export interface Readiness {
  readonly status: 'ready';
  readonly schemaVersion: number;
  /** Seconds since the oldest due job became due; 0 if none is. */
  readonly lagSeconds: number;
  readonly paused: readonly { readonly scope: 'kind' | 'queue' | 'schedule'; readonly name: string }[];
  /** Kinds with a due job that no worker has. */
  readonly unclaimedKinds: readonly string[];
  /** Queues with a pending job that no worker serves. */
  readonly unclaimedQueues: readonly string[];
  /** null: never. */
  readonly lastWorkerAt: string | null;
}

/** How the database is that the queue lives in. */
export interface DatabaseVitals {
  readonly postgresVersion: string;
  /** Version of TLS between the API and the database; null: it is not encrypted. */
  readonly tls: string | null;
  /** Connections of clients to the server, and those of them to this database. */
  readonly connections: number;
  readonly databaseConnections: number;
  readonly maxConnections: number;
  /** Transactions since the oldest snapshot that is still held: what was deleted since cannot be vacuumed. */
  readonly xminAge: number;
  readonly autovacuum: boolean;
  /** Tables of the queue for which it is switched off. */
  readonly autovacuumOff: readonly string[];
  readonly lastAutovacuumAt: string | null;
  /** Of the live jobs, estimated. */
  readonly deadRows: number;
  /** Days from now on for which there is a partition a day. */
  readonly partitionDaysAhead: number;
}

/** What `include` of `ready` can name. */
export type ReadyPart = 'database';
export type ReadinessWith<P extends ReadyPart> = Readiness & { readonly [Key in P]: DatabaseVitals };

/** One try: whoever asks whether it is ready wants to know it now. */
export function readyCall<P extends ReadyPart>(include: readonly P[] = []): Call<ReadinessWith<P>> {
  return {
    method: 'GET',
    path: pathOf`/ready`,
    query: { include: include.length > 0 ? include.join() : undefined },
    retries: 0,
    read: (body: ReadinessWith<P>) => {
      if (body.status !== 'ready') throw new Error('no readiness');
      return body;
    },
  };
}
