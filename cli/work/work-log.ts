import { createLog } from '../../functions/lambda/log.ts';
import type { Log } from '../../functions/queue/context.ts';
import { isIdle, readableLine } from '../../local/log-line.ts';
import { terminal } from '../terminal.ts';
import { visible } from '../visible.ts';

/** The log of this worker: JSON lines as on Lambda; where a person reads them, lines for people. */
export function workLog(): Log {
  const fields = { function: 'work', pid: process.pid };
  return terminal.isWatched ? createLog({ function: 'work' }, showLine) : createLog(fields);
}

function showLine(line: string): void {
  const read = readableLine(line);
  if (read === undefined || isIdle(read)) return;
  const { paint } = terminal;
  const colour = read.level === 'error' ? paint.red : read.level === 'warn' ? paint.yellow : String;
  terminal.show(`${paint.dim(new Date().toTimeString().slice(0, 8))} ${colour(visible(read.text))}`);
}
