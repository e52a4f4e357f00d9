import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';

/** What it was asked to invoke. */
export interface Invoked {
  readonly name: string;
  /** `Event`: asynchronously. */
  readonly type: string | undefined;
  readonly event: unknown;
}

export interface LambdaApi {
  readonly url: string;
  readonly invoked: readonly Invoked[];
  /** What it does with an invocation that it has heard; default: answers 202. */
  answer: (response: ServerResponse, invoked: Invoked) => unknown;
  close(): Promise<void>;
}

/** Stands in for Lambda's Invoke API, on loopback. */
export async function startLambdaApi(): Promise<LambdaApi> {
  const invoked: Invoked[] = [];
  const server = createServer(async (request, response) => {
    const invocation = await invocationOf(request);
    invoked.push(invocation);
    await api.answer(response, invocation);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const api: LambdaApi = {
    url: `http://127.0.0.1:${(server.address() as { port: number }).port}`,
    invoked,
    answer: (response) => response.writeHead(202).end(),
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
  return api;
}

async function invocationOf(request: IncomingMessage): Promise<Invoked> {
  const [, name] = /^\/2015-03-31\/functions\/([^/]+)\/invocations$/.exec(request.url ?? '') ?? [];
  if (request.method !== 'POST' || name === undefined)
    throw new Error(`no invocation: ${request.method} ${request.url}`);
  return {
    name: decodeURIComponent(name),
    type: String(request.headers['x-amz-invocation-type']),
    event: JSON.parse(await text(request)),
  };
}
