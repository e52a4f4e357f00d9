import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CliError } from '../cli-error.ts';
import type { Change } from './plan.ts';

/** @throws CliError if it cannot be written */
export function carryOut(folder: string, { path, text }: Change): void {
  const file = join(folder, path);
  try {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  } catch (cause) {
    const { message } = cause as Error;
    throw new CliError(`${path} cannot be written: ${message}. Make it so, and run this again.`, undefined, { cause });
  }
}
