import {
  type Attributes,
  type Context,
  context,
  isSpanContextValid,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  type TracerProvider,
  trace,
} from '@opentelemetry/api';
import { DeadlineError, MillraceError, RetryAfter, Snooze } from '../functions/queue/errors.ts';
import type { Middleware } from '../functions/queue/middleware.ts';
import { parentOf } from './parent.ts';

export interface TracingOptions {
  /** Default: the global one, as the SDK has registered it. */
  readonly tracerProvider?: TracerProvider;
  /** Attributes of each span beside those of the job. Default none. */
  readonly attributes?: (job: Job) => Attributes;
}

type Job = Parameters<Middleware>[0];

/** Seconds after which a processor that did not stop when it was told to is given up, as functions/queue/perform.ts has it. */
const STOP_GRACE_SECONDS = 2;

/**
 * A consumer span for each attempt, which is the active one within the processor: spans of libraries nest in it. Its parent is
 * the span of the request that put the job in (`job.traceparent`); without a valid one it begins a trace of its own.
 *
 * Attributes are those of the messaging semantic conventions, 1.45.0, for the operation "process" (status: development), and
 * some of our own (`millrace.…`). The span's name has the kind where these have the queue, which holds many kinds.
 *
 * A failure is recorded as an exception and makes the span's status an error. A Snooze, a RetryAfter and a stop that is nobody's
 * fault (a drain, a cancel, a lost claim) are events: nothing is wrong with the job.
 */
export function tracing({ tracerProvider, attributes }: TracingOptions = {}): Middleware {
  let tracer: Tracer | undefined;
  return (job, next, ctx) => {
    // At the first job: the SDK may be set up after this module is evaluated.
    tracer ??= (tracerProvider ?? trace.getTracerProvider()).getTracer('millrace');
    const span = tracer.startSpan(
      `process ${job.kind}`,
      { kind: SpanKind.CONSUMER, attributes: { ...attributesOf(job), ...attributes?.(job) } },
      parentContext(job),
    );
    return context.with(trace.setSpan(context.active(), span), () => ended(span, next, ctx.signal));
  };
}

async function ended(span: Span, next: () => Promise<unknown>, signal: AbortSignal): Promise<unknown> {
  let timer: NodeJS.Timeout | undefined;
  // One that does not stop never ends, and its span would never be seen.
  const giveUp = () => {
    timer = setTimeout(() => {
      record(span, signal.reason, signal);
      span.end();
    }, STOP_GRACE_SECONDS * 1000).unref();
  };
  if (signal.aborted) giveUp();
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    return await next();
  } catch (error) {
    if (span.isRecording()) record(span, error, signal);
    throw error;
  } finally {
    signal.removeEventListener('abort', giveUp);
    clearTimeout(timer);
    if (span.isRecording()) span.end();
  }
}

function parentContext({ traceparent }: Job): Context {
  const parent = parentOf(traceparent);
  return parent && isSpanContextValid(parent) ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT;
}

function attributesOf(job: Job): Attributes {
  return {
    'messaging.system': 'millrace',
    'messaging.operation.name': 'process',
    'messaging.operation.type': 'process',
    'messaging.destination.name': job.queue,
    'messaging.message.id': job.id,
    'millrace.job.kind': job.kind,
    'millrace.job.attempt': job.attempt,
    'millrace.job.max_attempts': job.maxAttempts,
    ...(job.subject !== null && { 'millrace.job.subject': job.subject }),
    ...(job.requestId !== null && { 'millrace.request.id': job.requestId }),
  };
}

/** What was thrown, as the engine sees it: functions/queue/judge.ts. */
function record(span: Span, thrown: unknown, { reason }: AbortSignal): void {
  if (thrown instanceof Snooze || thrown instanceof RetryAfter) {
    span.addEvent(`millrace.${thrown.code}`, { 'millrace.delay_seconds': thrown.seconds });
    return;
  }
  if (reason instanceof MillraceError && !(reason instanceof DeadlineError)) {
    span.addEvent('millrace.stopped', { 'millrace.reason': reason.code });
    return;
  }
  const error = asError(reason instanceof DeadlineError ? reason : thrown);
  span.recordException(error);
  span.setStatus({ code: SpanStatusCode.ERROR, message: error.message });
  span.setAttribute('error.type', error.name);
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error('the processor threw a value that is no Error');
}
