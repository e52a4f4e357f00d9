import { type Call, pathOf } from './request.ts';

/** A kind, a queue or a schedule. */
export type Target<Kind extends string = string> =
  | { readonly kind: Kind; readonly queue?: undefined; readonly schedule?: undefined }
  | { readonly queue: string; readonly kind?: undefined; readonly schedule?: undefined }
  | { readonly schedule: string; readonly kind?: undefined; readonly queue?: undefined };

export type Paused = Target & { readonly paused: boolean };

export function pauseCall(target: Target, verb: 'pause' | 'resume'): Call<Paused> {
  return {
    method: 'POST',
    path: pathTo(target, verb),
    read: (body: Paused) => {
      if (body.paused !== (verb === 'pause')) throw new Error('neither paused nor resumed');
      return body;
    },
  };
}

function pathTo({ kind, queue, schedule }: Target, verb: 'pause' | 'resume'): string {
  if (kind !== undefined) return pathOf`/kinds/${kind}/${verb}`;
  return queue !== undefined ? pathOf`/queues/${queue}/${verb}` : pathOf`/schedules/${schedule}/${verb}`;
}
