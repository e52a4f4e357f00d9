/** What `npx millrace` exits with; docs/cli.md lists them. */
export const EXIT = {
  ok: 0,
  /** It was tried and did not succeed, or what was asked for is not so. */
  failed: 1,
  /** The command line is wrong. */
  usage: 2,
  /** There is no such job or schedule, or it is in a state in which that cannot be done. */
  notThere: 3,
  /** The API or the database cannot be reached, or does not let this caller. */
  unreachable: 4,
  /** Ctrl-C. */
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export interface CliErrorOptions extends ErrorOptions {
  /** What to decide by: a name of docs/problems.md, or one of the client's own (`unreachable`, …). */
  readonly code?: string | undefined;
}

/** Ends the command with this code; its message is for the person at the terminal and says what to do. */
export class CliError extends Error {
  static override readonly name: string = 'CliError';
  override readonly name = 'CliError';
  readonly exitCode: ExitCode;
  readonly code: string | undefined;

  constructor(message: string, exitCode: ExitCode = EXIT.failed, { code, ...options }: CliErrorOptions = {}) {
    super(message, options);
    this.exitCode = exitCode;
    this.code = code;
  }
}
