import { MultiBar, Presets } from 'cli-progress';

export interface Progress {
  enqueued(total: number): void;
  completed(total: number): void;
  /** A line of its own between the bars' updates. */
  line(text: string): void;
  stop(): void;
}

/** Two bars at a terminal; elsewhere (a pipe, CI) a plain line now and then. */
export function openProgress(total: number, out: NodeJS.WriteStream = process.stdout): Progress {
  return out.isTTY ? bars(total, out) : plain(total, out);
}

function bars(total: number, stream: NodeJS.WriteStream): Progress {
  const multi = new MultiBar({ stream, format: '{name} {bar} {value}/{total}', hideCursor: true }, Presets.shades_grey);
  const enqueued = multi.create(total, 0, { name: 'enqueued ' });
  const completed = multi.create(total, 0, { name: 'completed' });
  return {
    enqueued: (n) => enqueued.update(n),
    completed: (n) => completed.update(n),
    line: (text) => multi.log(`${text}\n`),
    stop: () => multi.stop(),
  };
}

/** Seconds between two plain lines. */
const EVERY_SECONDS = 2;

function plain(total: number, stream: NodeJS.WriteStream): Progress {
  const line = (text: string) => stream.write(`${text}\n`);
  const state = { enqueued: 0, completed: 0 };
  let said = '';
  const say = () => {
    const text = `enqueued ${state.enqueued}/${total}, completed ${state.completed}/${total}`;
    if (text !== said) line(text);
    said = text;
  };
  const timer = setInterval(say, EVERY_SECONDS * 1000);
  return {
    enqueued: (n) => {
      state.enqueued = n;
    },
    completed: (n) => {
      state.completed = n;
    },
    line,
    stop: () => {
      clearInterval(timer);
      say();
    },
  };
}
