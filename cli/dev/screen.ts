import { createLogUpdate } from 'log-update';
import type { Line } from '../../local/reporter.ts';
import { terminal } from '../terminal.ts';
import { visibleLines } from '../visible.ts';
import { type Counts, watchCounts } from './counts.ts';
import { statusLine } from './status-line.ts';

/** Where the person sees what happens. */
export interface Screen {
  line(text: string): void;
  look(line: Line): string;
  /** From now on the last line says how the queue stands. */
  watch(queue: { readonly url: string; readonly databaseUrl: string }): void;
  /** Leaves what was written, and the terminal as it was. Can be called again. */
  close(): Promise<void>;
}

export function openScreen(): Screen {
  return terminal.isWatched ? liveScreen(process.stdout) : plainScreen();
}

function plainScreen(): Screen {
  return {
    line: terminal.show,
    look: ({ time, from, text }) => `${time} ${from} ${text}`,
    watch: () => {},
    close: async () => {},
  };
}

function liveScreen(stdout: NodeJS.WriteStream): Screen {
  const out = coalescing(stdout);
  const last = createLogUpdate(out as unknown as NodeJS.WritableStream, { showCursor: true });
  let queue: { url: string; counts: Counts | undefined } | undefined;
  let watching: { close(): Promise<void> } | undefined;
  const draw = () => {
    if (queue) last(statusLine(queue.url, queue.counts, columnsOf(stdout)));
  };
  stdout.on('resize', draw);
  return {
    line: (text) => {
      // Not through log-update, which breaks long lines: a command would not be one when it is copied.
      if (queue) last.clear();
      out.write(`${text}\n`);
      draw();
    },
    look: ({ time, from, text }) => {
      const { dim } = terminal.paint;
      return `${dim(time)} ${dim(from)} ${painted(visibleLines(text).join('\n'))}`;
    },
    watch: ({ url, databaseUrl }) => {
      queue = { url, counts: undefined };
      watching = watchCounts(databaseUrl, (counts) => {
        if (queue) queue.counts = counts;
        draw();
      });
    },
    close: async () => {
      if (queue) last.clear();
      queue = undefined;
      stdout.off('resize', draw);
      out.flush();
      await watching?.close();
    },
  };
}

/** By their first words: what went well, what did not, and what is over. */
const COLOURS: readonly (readonly [RegExp, 'green' | 'yellow' | 'red' | 'cyan'])[] = [
  [/^completed/, 'green'],
  [/^(failed|reaped|overtaken|released|cancelled)/, 'yellow'],
  [/^(dead|not reloaded|threw|killed|ended by)/, 'red'],
  [/^reloaded/, 'cyan'],
];

function painted(text: string): string {
  const [words, colour] = COLOURS.find(([pattern]) => pattern.test(text)) ?? [];
  return words && colour ? text.replace(words, (start) => terminal.paint[colour](start)) : text;
}

/** A terminal that nobody looks at (`script` in a pipe) has no size. */
function columnsOf(stdout: NodeJS.WriteStream): number {
  return stdout.columns || 80;
}

/** One write for all that is written at once, so that nothing is seen without its last line. */
function coalescing(stdout: NodeJS.WriteStream) {
  let held = '';
  const flush = () => {
    const text = held;
    held = '';
    if (text !== '') stdout.write(text);
  };
  return {
    isTTY: true,
    get columns() {
      return columnsOf(stdout);
    },
    get rows() {
      return stdout.rows || 24;
    },
    write: (text: string) => {
      if (held === '') setImmediate(flush);
      held += text;
      return true;
    },
    flush,
  };
}
