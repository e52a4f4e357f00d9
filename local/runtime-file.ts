import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startOf } from './process-identity.ts';

export interface RuntimeInfo {
  /** Where the HTTP API answers. */
  readonly url: string;
  /** With the password: the file is readable by its owner alone. */
  readonly databaseUrl: string;
  readonly pid: number;
  /** When that process began, see process-identity.ts. */
  readonly start: string;
  /** Processes of the worker that run now. */
  readonly workers: readonly number[];
}

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
    const data: unknown = JSON.parse(text);
    return isWhole(data) ? data : undefined;
  } catch {
    return undefined;
  }
}

/** By hand: it is also read where nothing but the client is installed. */
function isWhole(data: unknown): data is RuntimeInfo {
  const { url, databaseUrl, pid, start, workers } = (data ?? {}) as Record<keyof RuntimeInfo, unknown>;
  return (
    [url, databaseUrl, start].every((text) => typeof text === 'string') &&
    Array.isArray(workers) &&
    [pid, ...workers].every(Number.isInteger)
  );
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
    const data = this.#info;
    if (isWhole(data) && !this.#withdrawn) this.#written = this.#written.then(() => this.#write(data));
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
