import { duration } from './ago.ts';
import { terminal } from './terminal.ts';
import { cut } from './width.ts';

export interface ProgressBar {
  to(done: number): void;
  stop(): void;
}

/** Between two plain lines. */
const LINE_MS = 2000;
/** Columns of the bar itself, and of a terminal that does not say how many it has. */
const BAR = { least: 8, most: 40 };
const USUAL_WIDTH = 80;

/** On stderr: a bar where a person watches it, else a line now and then. `total` undefined: not known. */
export function progressBar(total: number | undefined): ProgressBar {
  const isDrawn = process.stderr.isTTY && process.env.TERM !== 'dumb';
  return isDrawn && total !== undefined ? bar(total) : lines(total);
}

/** On the line where the cursor is, whatever else was said meanwhile: a line of its own goes on below that. */
function bar(total: number): ProgressBar {
  const beganAt = performance.now();
  const draw = (done: number) => {
    const seconds = (performance.now() - beganAt) / 1000;
    // The last column stays free: some terminals go to the next line with it.
    const columns = (process.stderr.columns || USUAL_WIDTH) - 1;
    process.stderr.write(`\r${barLine(done, total, seconds, columns)}\x1b[K`);
  };
  let isStopped = false;
  draw(0);
  return {
    to: draw,
    stop: () => {
      if (!isStopped) process.stderr.write('\n');
      isStopped = true;
    },
  };
}

/** `████░░░░  50%  100 of 200  3s left`, within that many columns. */
export function barLine(done: number, counted: number, seconds: number, columns: number): string {
  // More may have died since they were counted.
  const total = Math.max(done, counted);
  const share = total === 0 ? 1 : done / total;
  const left = done === 0 || done === total ? '' : `  ${duration(Math.max(1, (seconds / done) * (total - done)))} left`;
  const words = `${Math.floor(share * 100)}%  ${inThousands(done)} of ${inThousands(total)}${left}`;
  const length = Math.min(BAR.most, columns - words.length - 2);
  if (length < BAR.least) return cut(words, columns);
  const full = Math.round(share * length);
  return `${'█'.repeat(full)}${'░'.repeat(length - full)}  ${words}`;
}

function lines(total: number | undefined): ProgressBar {
  let saidAt = performance.now();
  return {
    to: (done) => {
      if (performance.now() - saidAt < LINE_MS) return;
      saidAt = performance.now();
      terminal.say(
        total === undefined ? `${inThousands(done)} so far` : `${inThousands(done)} of ${inThousands(total)}`,
      );
    },
    stop: () => {},
  };
}

function inThousands(count: number): string {
  return count.toLocaleString('en-US');
}
