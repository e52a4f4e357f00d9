import { randomUUID } from 'node:crypto';
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { startOf } from './process-identity.ts';
import { StartError } from './start-error.ts';

const Holder = z.object({ pid: z.number().int(), start: z.string() });

/**
 * Makes this process the only runtime in `directory` until the returned function is called. A lock whose process is gone
 * (`kill -9`, power cut) is taken over.
 * @throws StartError `already_running` naming the other's pid, or `not_writable`
 */
export async function lock(directory: string): Promise<() => Promise<void>> {
  const file = join(directory, 'lock');
  const mine = JSON.stringify({ pid: process.pid, start: (await startOf(process.pid)) ?? '' });
  // Written first and linked into place, so that a lock never exists without its content.
  const draft = `${file}.${randomUUID()}`;
  await writeFile(draft, mine, { mode: 0o600 }).catch((cause: Error) => {
    throw new StartError(
      'not_writable',
      `The folder for data cannot be written to (${cause.message}): make it writable.`,
      { cause },
    );
  });
  try {
    while (!(await linked(draft, file))) await removeStale(file, directory);
  } finally {
    await rm(draft, { force: true });
  }
  return async () => {
    if ((await readFile(file, 'utf8').catch(() => undefined)) === mine) await rm(file, { force: true });
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

async function removeStale(file: string, directory: string): Promise<void> {
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined) return;
  const holder = parse(text);
  if (holder !== undefined && (await startOf(holder.pid)) === holder.start) {
    throw new StartError(
      'already_running',
      `Millrace already runs in ${directory} (process ${holder.pid}): use that one, or stop it with Ctrl-C in its terminal or kill ${holder.pid}.`,
    );
  }
  // Two starts may both see the stale lock: what was moved away is looked at again, and a fresh lock is put back.
  const aside = `${file}.${randomUUID()}`;
  await rename(file, aside).catch(() => {});
  if ((await readFile(aside, 'utf8').catch(() => text)) !== text) await linked(aside, file);
  await rm(aside, { force: true });
}

function parse(text: string): z.output<typeof Holder> | undefined {
  try {
    return Holder.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}
