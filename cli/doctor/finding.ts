export type Verdict = 'ok' | 'warning' | 'failed' | 'skipped';

/** What a check has to say, in one line each. */
export interface Finding {
  readonly verdict: Verdict;
  /** What was found; of what was skipped, what it takes. */
  readonly found: string;
  /** What to do about it. */
  readonly remedy?: string | undefined;
  /** Where more is said: `docs/runbook.md#no-tick`. */
  readonly see?: Reference | undefined;
  /** Nothing can be said of the deployment: it does not answer, or does not let this caller in. */
  readonly unreachable?: true | undefined;
}

/** A heading of the docs; a test says that each is there. */
export type Reference = `docs/${string}.md#${string}`;

export interface Advice {
  readonly remedy: string;
  readonly see: Reference;
  readonly unreachable?: true;
}

export const ok = (found: string): Finding => ({ verdict: 'ok', found });
export const warning = (found: string, advice: Advice): Finding => ({ verdict: 'warning', found, ...advice });
export const failed = (found: string, advice: Advice): Finding => ({ verdict: 'failed', found, ...advice });
export const skipped = (needs: string): Finding => ({ verdict: 'skipped', found: needs });

/** Thrown where something is not known that a check rests on: it is skipped. The message says what it takes. */
export class NotKnownError extends Error {
  static override readonly name: string = 'NotKnownError';
}
