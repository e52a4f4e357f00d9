/** The local runtime cannot start or go on; the message is one sentence for the person at the terminal and says what to do. */
export class StartError extends Error {
  readonly code: StartErrorCode;
  constructor(code: StartErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
  override get name(): string {
    return 'StartError';
  }
}

export type StartErrorCode =
  | 'bad_setting'
  | 'not_writable'
  | 'already_running'
  | 'port_taken'
  | 'synth_failed'
  | 'template_unusable'
  | 'database_unusable'
  | 'database_lost'
  | 'stopped';
