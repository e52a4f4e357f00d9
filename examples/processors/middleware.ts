import { tracing } from 'millrace/opentelemetry';
import type { Middleware } from 'millrace/queue';

/** What a service for errors takes, such as `Sentry.captureException`. */
type Capture = (error: unknown, about: { readonly tags: Readonly<Record<string, string | number>> }) => void;

/** Tells of each attempt that fails, and lets it fail. */
export const reporting =
  (capture: Capture): Middleware =>
  async ({ id, kind, attempt }, next) => {
    try {
      return await next();
    } catch (error) {
      capture(error, { tags: { kind, job: id, attempt } });
      throw error;
    }
  };

/** The first is the outermost: its span holds all that the others do. */
export const around = (capture: Capture): readonly Middleware[] => [tracing(), reporting(capture)];
