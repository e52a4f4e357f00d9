/** Version, trace id, parent id, flags (W3C Trace Context, level 1). Version ff and ids of zeros are invalid. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-|$)/;

/** What logs call `trace_id`; undefined unless the traceparent is valid. */
export function traceIdOf(traceparent: string | null | undefined): string | undefined {
  return traceparent ? TRACEPARENT.exec(traceparent)?.[1] : undefined;
}
