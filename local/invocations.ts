import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { LocalFunction } from './function.ts';
import { listen } from './listen.ts';
import { readBody } from './read-body.ts';

/** Of an asynchronous invocation, as Lambda has it. */
const EVENT_MAX_BYTES = 1024 * 1024;
const PATH = /^\/2015-03-31\/functions\/([^/?]+)\/invocations$/;

/** The part of Lambda's API by which functions start others: asynchronous invocations. */
export interface Invocations {
  readonly url: string;
  /** From now on these can be started, by the names that Lambda has for them. */
  open(functions: ReadonlyMap<string, LocalFunction>): void;
  /** From now on events are taken and nothing is started: whoever starts next finds the jobs. */
  ignore(): void;
  close(): Promise<void>;
}

/** Serves it on a free port of loopback. */
export async function openInvocations(start: (fn: LocalFunction, event: unknown) => void): Promise<Invocations> {
  let functions: ReadonlyMap<string, LocalFunction> = new Map();
  let ignoring = false;
  const server = createServer(async (request, response) => {
    const asked = await invocationOf(request, functions).catch(() => REFUSED);
    if ('status' in asked) return answer(response, asked);
    if (!ignoring) start(asked.fn, asked.event);
    answer(response, { status: 202 });
  });
  const url = await listen(server, 0);
  return {
    url,
    open: (named) => {
      functions = named;
    },
    ignore: () => {
      ignoring = true;
    },
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

interface Refusal {
  readonly status: number;
  readonly code?: string;
  readonly message?: string;
}

const REFUSED: Refusal = {
  status: 400,
  code: 'InvalidRequestContentException',
  message: 'The request cannot be read, or its event is no JSON.',
};

async function invocationOf(
  request: IncomingMessage,
  functions: ReadonlyMap<string, LocalFunction>,
): Promise<{ fn: LocalFunction; event: unknown } | Refusal> {
  const [, encoded] = PATH.exec(request.url ?? '') ?? [];
  if (request.method !== 'POST' || encoded === undefined) {
    return { status: 404, code: 'UnknownOperationException', message: 'Here functions can be invoked, and no more.' };
  }
  if (request.headers['x-amz-invocation-type'] !== 'Event') {
    return {
      status: 400,
      code: 'InvalidParameterValueException',
      message: 'On this machine functions are invoked as Event only.',
    };
  }
  const body = await readBody(request, EVENT_MAX_BYTES);
  if (body === undefined) return { status: 413, code: 'RequestTooLargeException', message: 'The event exceeds 1 MiB.' };
  const name = decodeURIComponent(encoded).replace(/^arn:.*:function:/, '');
  const fn = functions.get(name);
  if (fn === undefined)
    return { status: 404, code: 'ResourceNotFoundException', message: `Function not found: ${name}` };
  return { fn, event: body.length > 0 ? JSON.parse(String(body)) : {} };
}

function answer(response: ServerResponse, { status, code, message }: Refusal): void {
  response.writeHead(status, {
    'x-amzn-requestid': randomUUID(),
    'content-type': 'application/json',
    ...(code !== undefined && { 'x-amzn-errortype': code }),
  });
  response.end(message === undefined ? '' : JSON.stringify({ Type: 'User', Message: message }));
}
