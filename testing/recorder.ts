import { Bell } from '../functions/queue/bell.ts';
import type { Log } from '../functions/queue/context.ts';
import { type JobProgress, ProgressBoard } from '../functions/queue/progress-board.ts';

export interface LogLine {
  readonly level: keyof Log;
  readonly message: string;
  /** With what the engine adds: `job_id`, `kind`, `attempt`, … */
  readonly fields: Readonly<Record<string, unknown>>;
}

/** One call of `ctx.progress`. A worker writes the latest of each second only. */
export interface ProgressCall {
  readonly fraction: number;
  /** As it would be stored: cut after 500 characters. */
  readonly note: string | null;
}

/** Keeps what an attempt says. */
export class Recorder {
  readonly lines: LogLine[] = [];
  readonly progress = new EveryCall();
  readonly log: Log = {
    debug: this.#keeping('debug'),
    info: this.#keeping('info'),
    warn: this.#keeping('warn'),
    error: this.#keeping('error'),
  };

  #keeping(level: keyof Log) {
    return (message: string, fields: Record<string, unknown> = {}): void => {
      this.lines.push({ level, message, fields });
    };
  }
}

class EveryCall extends ProgressBoard {
  readonly calls: ProgressCall[] = [];

  constructor() {
    super(new Bell());
  }

  override add(progress: JobProgress): void {
    const { fraction, note } = progress.taken();
    this.calls.push({ fraction, note });
  }
}
