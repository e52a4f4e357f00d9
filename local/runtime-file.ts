import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { startOf } from './process-identity.ts';

const RuntimeFile = z.object({
  /** Where the HTTP API answers. */
  url: z.string(),
  /** With the password: the file is readable by its owner alone. */
  databaseUrl: z.string(),
  pid: z.number().int(),
  /** When that process began, see process-identity.ts. */
  start: z.string(),
  /** Processes of the worker that run now. */
  workers: z.array(z.number().int()),
});

export type RuntimeInfo = z.output<typeof RuntimeFile>;

const NAME = 'runtime.json';

/** The runtime that is up in that directory; undefined if none is, also when one died and left its file. */
export async function readRuntimeFile(directory: string): Promise<RuntimeInfo | undefined> {
  const text = await readFile(join(directory, NAME), 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const data = parse(text);
  return data && (await startOf(data.pid)) === data.start ? data : undefined;
}

/** Undefined for what no runtime wrote: a disk that was full, an editor. */
function parse(text: string): RuntimeInfo | undefined {
  try {
    return RuntimeFile.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** The file while its runtime is up: one change after the other, each replacing it whole, so a reader never sees half of it. */
export class Announcement {
  readonly #file: string;
  #info: Partial<RuntimeInfo> & Pick<RuntimeInfo, 'workers'> = { workers: [] };
  #written: Promise<void> = Promise.resolve();
  #withdrawn = false;

  constructor(directory: string) {
    this.#file = join(directory, NAME);
  }

  /** Writes nothing until all parts are known, and nothing any more after `withdraw`. */
  change(part: Partial<RuntimeInfo>): Promise<void> {
    this.#info = { ...this.#info, ...part };
    const { data } = RuntimeFile.safeParse(this.#info);
    if (data !== undefined && !this.#withdrawn) this.#written = this.#written.then(() => this.#write(data));
    return this.#written;
  }

  async withdraw(): Promise<void> {
    this.#withdrawn = true;
    await this.#written.catch(() => {});
    await rm(this.#file, { force: true });
  }

  async #write(info: RuntimeInfo): Promise<void> {
    await writeFile(`${this.#file}.new`, `${JSON.stringify(info, null, 2)}\n`, { mode: 0o600 });
    await rename(`${this.#file}.new`, this.#file);
  }
}
