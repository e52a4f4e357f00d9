import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished } from 'vitest';
import { ApiError } from '../../client/index.ts';

/** A request as it arrived. */
export interface Seen {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look at bodies of every shape
  readonly body: any;
  /** Of performance.now(). */
  readonly at: number;
}

export type Answer = (response: ServerResponse, seen: Seen) => void;

export interface TestServer {
  readonly url: string;
  readonly seen: readonly Seen[];
  /** Sends no more than it has, hangs up on everybody and takes no more connections. */
  stop(): Promise<void>;
}

/** An HTTP server on loopback that gives these answers in their order, and the last one again and again. */
export async function serve(...answers: Answer[]): Promise<TestServer> {
  const seen: Seen[] = [];
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const { method = '', url: target = '', headers } = request;
    const one = { method, target, headers, text: body, body: body && JSON.parse(body), at: performance.now() };
    seen.push(one);
    answers[Math.min(seen.length, answers.length) - 1]?.(response, one);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const stop = async () => {
    server.closeAllConnections();
    server.close();
  };
  onTestFinished(stop);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen, stop };
}

export function json(status: number, body: unknown, headers: Record<string, string> = {}): Answer {
  return raw(status, JSON.stringify(body), { 'content-type': 'application/json', ...headers });
}

export function raw(status: number, body: string, headers: Record<string, string> = {}): Answer {
  return (response) => void response.writeHead(status, headers).end(body);
}

/** A problem as functions/lambda/problems.ts writes it. */
export function problem(
  status: number,
  name: string,
  members: object = {},
  headers: Record<string, string> = {},
): Answer {
  const type = `urn:millrace:problem:${name}`;
  const body = { type, title: 'A title', status, detail: 'What to do.', request_id: 'r-1', ...members };
  return json(status, body, { 'content-type': 'application/problem+json', 'x-request-id': 'r-1', ...headers });
}

/** Takes the request and never says a word. */
export const hang: Answer = () => {};

/** Hangs up instead of answering. */
export const hangUp: Answer = (response) => void response.socket?.destroy();

/** Sends the head of a good answer and half of its body, then hangs up. */
export const cutMidway: Answer = (response) => {
  const body = JSON.stringify(job());
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
  response.write(body.slice(0, 40), () => response.socket?.destroy());
};

/** Sends the head of a good answer and half of its body, and no more. */
export const stallMidway: Answer = (response) => {
  const body = JSON.stringify(job());
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
  response.write(body.slice(0, 40));
};

export const ID = '0196a3c8-1d6e-7d2b-8f0a-3f5a9f6b2c11';

/** A job as the wire shows it. */
export function job(over: object = {}) {
  return {
    id: ID,
    kind: 'hello.greet',
    queue: 'default',
    subject: null,
    status: 'pending',
    priority: 0,
    attempts: 0,
    max_attempts: 5,
    run_at: '2026-11-29T18:00:00.123456Z',
    created_at: '2026-11-29T18:00:00.123456Z',
    started_at: null,
    finished_at: null,
    cancel_requested_at: null,
    request_id: null,
    idempotency_key: null,
    unique_key: null,
    progress: null,
    errors: [],
    ...over,
  };
}

/** The ApiError that a call rejects with. */
export function failureOf(call: Promise<unknown>): Promise<ApiError> {
  return call.then(
    () => expect.fail('resolved'),
    (error: unknown) => (error instanceof ApiError ? error : expect.fail(String(error))),
  );
}

/** Array.fromAsync, which Node 20 has not. */
export async function all<T>(iterable: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of iterable) items.push(item);
  return items;
}
