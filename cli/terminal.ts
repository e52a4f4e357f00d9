import colors from 'picocolors';

/** Columns of a terminal that does not say how many it has. */
const USUAL_WIDTH = 80;

/**
 * Where a command writes. stdout carries data alone, so that it can be piped; words about it go to stderr. Colours only on a
 * terminal, and never with NO_COLOR.
 */
export const terminal = {
  /** A line of data. */
  show: (line: string): void => {
    process.stdout.write(`${line}\n`);
  },
  /** A line for the person. */
  say: (line: string): void => {
    process.stderr.write(`${line}\n`);
  },
  /** Whether a person reads stdout. */
  get isWatched(): boolean {
    return process.stdout.isTTY === true;
  },
  /** Whether a person can be asked. */
  get canAsk(): boolean {
    return process.stdin.isTTY === true && process.stderr.isTTY === true;
  },
  /** Columns that a line of stdout can have; no bound where no terminal is. */
  get width(): number {
    return terminal.isWatched ? process.stdout.columns || USUAL_WIDTH : Number.POSITIVE_INFINITY;
  },
  /** For text on stdout. */
  get paint() {
    return colors.createColors(terminal.isWatched && colors.isColorSupported);
  },
};
