import type { Command } from 'commander';
import { cancel } from './cancel.ts';
import { dev } from './dev.ts';
import { doctor } from './doctor.ts';
import { enqueue } from './enqueue.ts';
import { erase } from './erase.ts';
import { init } from './init.ts';
import { list } from './list.ts';
import { migrate } from './migrate.ts';
import { pause, resume } from './pause.ts';
import { redrive } from './redrive.ts';
import { show } from './show.ts';
import { stats } from './stats.ts';
import { tail } from './tail.ts';
import { token } from './token.ts';
import { work } from './work.ts';

/**
 * In the order of the help. Each is a module that only says what the command takes, so that `--help` is there at once; what it
 * does is imported when it is carried out.
 */
export const COMMANDS: readonly ((program: Command) => void)[] = [
  init,
  dev,
  work,
  enqueue,
  list,
  show,
  tail,
  stats,
  cancel,
  redrive,
  pause,
  resume,
  erase,
  token,
  migrate,
  doctor,
];
