import { randomUUID } from 'node:crypto';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import { startOf } from './process-identity.ts';

const Holder = z.object({ pid: z.number().int(), start: z.string() });
type Holder = z.output<typeof Holder>;

/**
 * Makes this process the one that holds `file`, until the returned function is called. One whose process is gone
 * (`kill -9`, power cut) is taken over.
 * @throws what `refusal` makes of the pid that holds it, or what the file system says
 */
export async function takeLock(file: string, refusal: (pid: number) => Error): Promise<() => Promise<void>> {
  const id = randomUUID();
  // With an id of its own: who takes it again in the same process does not lose it to a second release of the first.
  const mine = JSON.stringify({ pid: process.pid, start: (await startOf(process.pid)) ?? '', id });
  // Written first and linked into place, so that a lock never exists without its content.
  const draft = `${file}.${id}`;
  await writeFile(draft, mine, { mode: 0o600 });
  try {
    while (!(await linked(draft, file))) await removeStale(file, draft, refusal);
  } finally {
    await rm(draft, { force: true });
  }
  return async () => {
    if ((await contentOf(file)) === mine) await rm(file, { force: true });
  };
}

async function linked(draft: string, file: string): Promise<boolean> {
  try {
    await link(draft, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

async function removeStale(file: string, draft: string, refusal: (pid: number) => Error): Promise<void> {
  const holder = await holderOf(file);
  if (holder?.alive) throw refusal(holder.pid);
  // Only one at a time removes, and only what is still stale then: else one start removes what another has just made.
  const turn = `${file}.turn`;
  if (await linked(draft, turn)) {
    if ((await holderOf(file))?.alive === false) await rm(file, { force: true });
    await rm(turn, { force: true });
  } else {
    if ((await holderOf(turn))?.alive === false) await rm(turn, { force: true });
    await sleep(10);
  }
}

/** Undefined when there is no such file. One that nobody wrote whole belongs to nobody alive. */
async function holderOf(file: string): Promise<{ pid: number; alive: boolean } | undefined> {
  const text = await contentOf(file);
  if (text === undefined) return undefined;
  const holder = parse(text);
  return holder ? { pid: holder.pid, alive: (await startOf(holder.pid)) === holder.start } : { pid: 0, alive: false };
}

function contentOf(file: string): Promise<string | undefined> {
  return readFile(file, 'utf8').catch(() => undefined);
}

function parse(text: string): Holder | undefined {
  try {
    return Holder.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}
