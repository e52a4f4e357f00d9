import { randomUUID } from 'node:crypto';
import { Client } from '../client/client.ts';
import type { CallOptions } from '../client/options.ts';
import { CliError, EXIT } from './cli-error.ts';
import type { Doing } from './doing.ts';
import { httpFailure } from './http-failure.ts';
import { statsOf } from './metrics-text.ts';
import type { QueueAccess } from './queue.ts';
import type { HttpTarget } from './target.ts';

/** A person waits: what does not answer is said soon. */
const RETRIES = 2;

/** The queue of an API, by millrace/client. */
export function httpQueue({ url, token, where }: HttpTarget): QueueAccess {
  const client = clientOf(url, token);
  const requestId = `cli-${randomUUID()}`;
  const call: CallOptions = { requestId };
  const tried = async <T>(doing: Doing, answer: Promise<T>): Promise<T> => {
    try {
      return await answer;
    } catch (error) {
      throw httpFailure(error, doing, { where, hasToken: token !== undefined });
    }
  };
  return {
    by: 'http',
    where,
    requestId,
    enqueue: ({ kind, payload, ...options }) =>
      tried('enqueue', client.enqueue(kind as never, payload as never, { ...options, ...call })),
    get: (id, include = []) => tried(include.length > 0 ? 'read' : 'see', client.get(id, { include, ...call })),
    waitFor: (id, options) =>
      tried(options.include.length > 0 ? 'read' : 'see', client.waitFor(id, { ...options, ...call })),
    async *pages(filter, limit) {
      const pages = client.list({ ...filter, kind: filter.kind as never, limit }, call).pages();
      for (;;) {
        const { done, value } = await tried('see', pages.next());
        if (done) return;
        yield value;
      }
    },
    counts: (filter) => tried('see', client.counts(filter as never, call)),
    stats: async () => statsOf(await tried('read', client.metrics(call))),
    ready: () => tried('see', client.ready(call)),
    schedules: () => tried('read', client.schedules(call)),
    cancel: (id) => tried('act', client.cancel(id, call)),
    redrive: (id) => tried('act', client.redrive(id, call)),
    redriveStep: (filter) => tried('act', firstStep(client, filter, call)),
    erase: (id) => tried('act', client.erase(id, call)),
    pause: (target) => tried('act', client.pause(target as never, call)),
    resume: (target) => tried('act', client.resume(target as never, call)),
    fire: (schedule) => tried('act', client.fire(schedule, call)),
    close: async () => {},
  };
}

async function firstStep(client: Client, filter: Parameters<Client['redriveSteps']>[0], call: CallOptions) {
  for await (const step of client.redriveSteps(filter, call)) return step;
  throw new Error('the API gave no step');
}

function clientOf(url: string, token: string | undefined): Client {
  try {
    return new Client({ url, token, retries: RETRIES });
  } catch (error) {
    // Says which option is at fault, and never shows the token.
    const { message } = error as Error;
    const said = message
      .replace(/^url /, '--url (or MILLRACE_URL) ')
      .replace(/^token /, 'MILLRACE_TOKEN (or --token-file) ');
    throw new CliError(said, EXIT.usage, { cause: error });
  }
}
