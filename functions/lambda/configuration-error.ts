import { MillraceError } from '../queue/errors.ts';

/** A setting of the function is missing or is not what it must be. Nothing works until whoever deploys mends it. */
export class ConfigurationError extends MillraceError {
  static override readonly name: string = 'ConfigurationError';
  readonly code = 'configuration';
}
