import type { Call } from './request.ts';

/** The text as Prometheus reads it. */
export function metricsCall(): Call<string> {
  return {
    method: 'GET',
    path: '/metrics',
    isText: true,
    read: (text: string) => {
      if (!text.startsWith('# HELP ')) throw new Error('no metrics');
      return text;
    },
  };
}
