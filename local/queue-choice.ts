import { StartError } from './start-error.ts';
import type { Queue, Stack } from './template.ts';

/** What of an app runs here. */
export interface Choice {
  readonly stacks: readonly Stack[];
  /** The queue whose functions alone run. Undefined where the assembly marks none: then everything in the stacks does. */
  readonly queue: Queue | undefined;
}

/**
 * The one queue of the app, or the one that is wanted, by the path of its construct, of its stack or of its stage.
 * @throws StartError `bad_setting` that says which there are, when it is not exactly one
 */
export function chooseQueue(stacks: readonly Stack[], wanted: string | undefined): Choice {
  const all = stacks.flatMap((stack) => stack.queues.map((queue) => ({ stack, queue })));
  const fits = (path: string, stack: Stack) =>
    wanted === undefined || path === wanted || path.startsWith(`${wanted}/`) || stack.name === wanted;
  const [found, ...others] = all.filter(({ stack, queue }) => fits(queue.path, stack));
  if (found !== undefined && others.length === 0) return { stacks: [found.stack], queue: found.queue };
  const names = (queues: readonly { queue: Queue }[]) => queues.map(({ queue }) => queue.path).join(', ');
  if (found !== undefined) {
    const sentence = `The app has more than one queue (${names([found, ...others])}), and one at a time runs here`;
    throw new StartError('bad_setting', `${sentence}: choose it with --stack ${found.queue.path}.`);
  }
  if (all.length > 0) {
    throw new StartError('bad_setting', `--stack ${wanted} fits no queue of the app: choose one of ${names(all)}.`);
  }
  const rest = stacks.filter((stack) => fits(stack.name, stack));
  if (rest.length > 0 || stacks.length === 0) return { stacks: rest, queue: undefined };
  const known = stacks.map(({ name }) => name).join(', ');
  throw new StartError('bad_setting', `--stack ${wanted} is no stack of the app: choose one of ${known}.`);
}
