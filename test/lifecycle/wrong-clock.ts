/*
 * Preload of a process: its Date is off by what the file CLOCK_FILE says, `+25200` or `-25200` seconds, as libfaketime
 * reads it. What comes later in that file is a clock that somebody sets.
 */
import { readFileSync } from 'node:fs';

const Real = Date;
const shiftMs = () => Number(readFileSync(process.env.CLOCK_FILE ?? '', 'utf8')) * 1000;

globalThis.Date = class extends Real {
  constructor(...args: unknown[]) {
    super(...((args.length > 0 ? args : [Real.now() + shiftMs()]) as [number]));
  }
  static override now(): number {
    return Real.now() + shiftMs();
  }
} as DateConstructor;
