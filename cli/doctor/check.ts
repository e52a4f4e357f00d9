import type { Deployment } from './deployment.ts';
import type { Finding } from './finding.ts';

export interface Check {
  /** For programs: stays. */
  readonly id: string;
  /** Resolves what it found. A NotKnownError is a check that was skipped. */
  readonly examine: (deployment: Deployment) => Promise<Finding>;
}
