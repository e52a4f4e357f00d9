import type { SpanContext } from '@opentelemetry/api';

/** Version, trace id, parent id, flags; a later version may have more behind (W3C Trace Context, level 1). */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** The span that a traceparent names. undefined: there is none, or it is no traceparent. */
export function parentOf(traceparent: string | null): SpanContext | undefined {
  const [, version, traceId, spanId, flags, more] = TRACEPARENT.exec(traceparent ?? '') ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  if (version === '00' && more !== undefined) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true };
}
