import { type Call, pathOf } from './request.ts';

/** A kind or a queue. */
export type Target<Kind extends string = string> =
  | { readonly kind: Kind; readonly queue?: undefined }
  | { readonly queue: string; readonly kind?: undefined };

export type Paused = Target & { readonly paused: boolean };

export function pauseCall({ kind, queue }: Target, verb: 'pause' | 'resume'): Call<Paused> {
  return {
    method: 'POST',
    path: kind === undefined ? pathOf`/queues/${queue}/${verb}` : pathOf`/kinds/${kind}/${verb}`,
    read: (body: Paused) => {
      if (body.paused !== (verb === 'pause')) throw new Error('neither paused nor resumed');
      return body;
    },
  };
}
