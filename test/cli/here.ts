import { vi } from 'vitest';
import { main } from '../../cli/main.ts';

export interface Said {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command line carried out in this process: for what needs none of its own. One at a time. */
export async function here(...args: string[]): Promise<Said> {
  const written = { stdout: '', stderr: '' };
  const spies = (['stdout', 'stderr'] as const).map((stream) =>
    vi.spyOn(process[stream], 'write').mockImplementation((chunk: string | Uint8Array) => {
      written[stream] += chunk;
      return true;
    }),
  );
  try {
    const code = await main(args);
    return { code, ...written };
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}
