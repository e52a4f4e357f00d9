import type { Call } from './request.ts';

export interface Readiness {
  readonly status: 'ready';
  readonly schemaVersion: number;
  /** Seconds since the oldest due job became due; 0 if none is. */
  readonly lagSeconds: number;
  readonly paused: readonly { readonly scope: 'kind' | 'queue'; readonly name: string }[];
  /** Kinds with a due job that no worker has. */
  readonly unclaimedKinds: readonly string[];
  /** Queues with a pending job that no worker serves. */
  readonly unclaimedQueues: readonly string[];
  /** null: never. */
  readonly lastWorkerAt: string | null;
}

/** One try: whoever asks whether it is ready wants to know it now. */
export function readyCall(): Call<Readiness> {
  return {
    method: 'GET',
    path: '/ready',
    retries: 0,
    read: (body: Readiness) => {
      if (body.status !== 'ready') throw new Error('no readiness');
      return body;
    },
  };
}
