import { MillraceError } from '../queue/errors.ts';

/** A step of a rotation cannot be done. Secrets Manager says so of the secret, and begins again later. */
export class RotationError extends MillraceError {
  static override readonly name: string = 'RotationError';
  readonly code = 'rotation';
}
