/** `npm run sam` cannot start or go on; the message is for the person at the terminal and says what to do. */
export class SamError extends Error {
  readonly code: 'tool_missing' | 'database' | 'migration' | 'api' | 'stopped';
  constructor(code: SamError['code'], message: string) {
    super(message);
    this.code = code;
  }
  override get name(): string {
    return 'SamError';
  }
}
