import { idArgument } from './arguments.ts';

/** Reads the ids of a command line one by one; one that is there twice counts once. */
export function jobIds(text: string, before: readonly string[] = []): readonly string[] {
  const id = idArgument(text);
  return before.includes(id) ? before : [...before, id];
}
