/** One Lambda function of the synthesized template, as the local runtime starts it. */
export interface LocalFunction {
  /** Last part of its construct path, such as `Enqueue`: what logs and the context call it. */
  readonly name: string;
  /** Absolute folder of the bundle. */
  readonly directory: string;
  /** `file.export` in that folder, as Lambda has it. */
  readonly handler: string;
  /** Seconds after which an invocation is killed. */
  readonly timeoutSeconds: number;
  readonly memoryMegabytes: number;
  /** Its whole environment: the template's variables and those that Lambda sets. */
  readonly environment: Readonly<Record<string, string>>;
}

/** How an invocation ended. What a handler returns is its JSON, as it leaves a Lambda. */
export type Ending =
  | { readonly kind: 'returned'; readonly json: string }
  | { readonly kind: 'threw'; readonly error: ThrownError }
  | { readonly kind: 'timed out' }
  /** The sandbox ended under it: `how` is "exit code 1", "signal SIGKILL", … */
  | { readonly kind: 'died'; readonly how: string };

export interface ThrownError {
  readonly name: string;
  readonly message: string;
  readonly stack?: string;
}

/** What a sandbox gets to know of one invocation. */
export interface Invocation {
  readonly event: unknown;
  readonly requestId: string;
  /** Milliseconds since the epoch at which it will be killed. */
  readonly deadline: number;
}

/** Receives each line that a function writes to stdout or stderr. */
export type OnLine = (fn: LocalFunction, line: string) => void;
