/*
 * Traces of jobs, by OpenTelemetry: `export const middleware = [tracing()]` beside the processors. It needs @opentelemetry/api
 * and an SDK that the worker has set up; without one it costs next to nothing and records nothing.
 */
export { type TracingOptions, tracing } from './tracing.ts';
