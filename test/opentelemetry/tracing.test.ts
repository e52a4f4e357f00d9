import { context, diag, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import * as z from 'zod';
import type { Context } from '../../functions/queue/context.ts';
import { defineJob } from '../../functions/queue/contract.ts';
import { insertJob, type NewJob } from '../../functions/queue/enqueue.ts';
import { PermanentError, RetryAfter, Snooze } from '../../functions/queue/errors.ts';
import { tracing } from '../../opentelemetry/index.ts';
import { parentOf } from '../../opentelemetry/parent.ts';
import { runOn } from '../lifecycle/ground.ts';
import { afterAll, beforeEach, describe, expect, test as plain, vi } from '../support/fixtures.ts';

const exporter = new InMemorySpanExporter();
const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
beforeEach(() => exporter.reset());
afterAll(() => context.disable());

const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const contracts = { 'test.kind': defineJob({ payload: z.looseObject({}), timeoutSeconds: 0.2 }) };
type Run = (payload: Record<string, unknown>, ctx: Context) => unknown;

/** Puts a job in, runs it once, and resolves the spans that were ended, in that order. */
const test = plain.extend(
  'traced',
  async ({ db, databaseUrl }) =>
    async (processor: Run, job: Partial<NewJob> = {}) => {
      const { id } = await insertJob(db, { kind: 'test.kind', payload: {}, ...job });
      const middleware = [tracing({ tracerProvider, attributes: () => ({ tenant: 'acme' }) })];
      await runOn(databaseUrl, { contracts, processors: { 'test.kind': processor }, middleware });
      return { id, spans: exporter.getFinishedSpans() };
    },
);

test('an attempt is a consumer span, whose parent is that of the request, and what it calls nests in it', async ({
  traced,
}) => {
  const fields = { traceparent, subject: 'order:7', requestId: 'r1', maxAttempts: 3 };
  const { id, spans } = await traced(async () => {
    await Promise.resolve();
    // As a library does it that knows nothing of jobs.
    tracerProvider.getTracer('library').startSpan('SELECT').end();
  }, fields);
  const [inner, span] = spans;
  expect(spans).toHaveLength(2);
  expect(span).toMatchObject({
    name: 'process test.kind',
    kind: SpanKind.CONSUMER,
    status: { code: SpanStatusCode.UNSET },
    parentSpanContext: { traceId: traceparent.slice(3, 35), spanId: '00f067aa0ba902b7', isRemote: true },
    instrumentationScope: { name: 'millrace' },
    attributes: {
      'messaging.system': 'millrace',
      'messaging.operation.name': 'process',
      'messaging.operation.type': 'process',
      'messaging.destination.name': 'default',
      'messaging.message.id': id,
      'millrace.job.kind': 'test.kind',
      'millrace.job.attempt': 1,
      'millrace.job.max_attempts': 3,
      'millrace.job.subject': 'order:7',
      'millrace.request.id': 'r1',
      tenant: 'acme',
    },
    events: [],
  });
  expect(inner?.name).toBe('SELECT');
  expect(inner?.parentSpanContext?.spanId).toBe(span?.spanContext().spanId);
});

test('without a request, or with a traceparent that is none, it begins a trace', async ({ traced }) => {
  const { spans } = await traced(() => 1, { traceparent: 'none' });
  expect(spans[0]?.parentSpanContext).toBeUndefined();
});

test.for([
  [new Error('boom'), 'Error', 'boom'],
  [new PermanentError('never'), 'PermanentError', 'never'],
  ['a text', 'Error', 'the processor threw a value that is no Error'],
] as const)('a failure is recorded, and makes the span an error: %s', async ([thrown, type, message], { traced }) => {
  const { spans } = await traced(() => Promise.reject(thrown));
  expect(spans[0]).toMatchObject({
    status: { code: SpanStatusCode.ERROR, message },
    attributes: { 'error.type': type },
    events: [{ name: 'exception', attributes: { 'exception.message': message } }],
  });
});

test.for([
  [new Snooze(3600), 'millrace.snooze'],
  [new RetryAfter(3600), 'millrace.retry_after'],
] as const)('a delay that the processor asks for is an event, and no error: %s', async ([thrown, name], { traced }) => {
  const { spans } = await traced(() => Promise.reject(thrown));
  expect(spans[0]).toMatchObject({
    status: { code: SpanStatusCode.UNSET },
    events: [{ name, attributes: { 'millrace.delay_seconds': 3600 } }],
  });
});

test('a payload that does not fit is a failure like any other', async ({ traced }) => {
  const { spans } = await traced(() => 1, { payload: 'text' });
  expect(spans[0]).toMatchObject({ attributes: { 'error.type': 'PayloadError' } });
});

describe('what the deadline ends is told by the deadline:', () => {
  test('one that stops when it is told to', async ({ traced }) => {
    const stops: Run = (_, { signal }) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));
    const { spans } = await traced(stops);
    expect(spans[0]).toMatchObject({ attributes: { 'error.type': 'DeadlineError' } });
  });

  test('one that never ends, so that its span is seen all the same', async ({ traced }) => {
    const { spans } = await traced(() => new Promise(() => {}));
    expect(spans[0]).toMatchObject({ attributes: { 'error.type': 'DeadlineError' } });
  });
});

test('a drain is no failure', async ({ db, databaseUrl }) => {
  await insertJob(db, { kind: 'test.kind', payload: {} });
  const slow = { 'test.kind': defineJob({ payload: z.unknown(), timeoutSeconds: 20 }) };
  const shutdown = new AbortController();
  const processor: Run = (_, { signal }) =>
    new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason));
      shutdown.abort();
    });
  await runOn(databaseUrl, {
    contracts: slow,
    processors: { 'test.kind': processor as never },
    middleware: [tracing({ tracerProvider })],
    signal: shutdown.signal,
  });
  expect(exporter.getFinishedSpans()[0]).toMatchObject({
    status: { code: SpanStatusCode.UNSET },
    events: [{ name: 'millrace.stopped', attributes: { 'millrace.reason': 'drain' } }],
  });
});

test('a span is ended once, also if the attempt ends after its signal and within the grace', async ({ traced }) => {
  const complaints = vi.fn();
  diag.setLogger({ verbose() {}, debug() {}, info() {}, warn: complaints, error: complaints });
  const late: Run = (_, { signal }) =>
    new Promise((_, reject) => signal.addEventListener('abort', () => setTimeout(reject, 50, signal.reason)));
  await traced(late);
  // As long as the grace, from the signal on.
  await new Promise((resolve) => setTimeout(resolve, 2100));
  diag.disable();
  expect(complaints).not.toHaveBeenCalled();
  expect(exporter.getFinishedSpans()).toHaveLength(1);
});

test('without an SDK it is in nobody’s way', async ({ db, databaseUrl }) => {
  await insertJob(db, { kind: 'test.kind', payload: {} });
  let span: unknown = 'none yet';
  const processors = {
    'test.kind': () => {
      span = trace.getActiveSpan()?.isRecording();
    },
  };
  const summary = await runOn(databaseUrl, { contracts, processors, middleware: [tracing()] });
  expect([summary.completed, span]).toEqual([1, false]);
});

test.for([
  [traceparent, 1],
  ['00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00', 0],
  ['01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more', 1],
  ['00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more', undefined],
  ['ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', undefined],
  ['', undefined],
] as const)('the flags of %s are %s', ([text, flags]) => {
  expect(parentOf(text)?.traceFlags).toBe(flags);
});
