import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Payload, Producer } from '../systems/system.ts';

interface Waiting {
  resolve(): void;
  reject(error: Error): void;
}

/** A process of River that puts jobs in, told over a pipe: that costs a call about 0.1 ms. */
export async function riverProducer(program: string, databaseUrl: string, connections: number): Promise<Producer> {
  const child = spawn(program, ['insert', databaseUrl, String(connections)], { stdio: ['pipe', 'pipe', 'inherit'] });
  const waiting = new Map<number, Waiting>();
  const ended = once(child, 'close');
  const lines = createInterface({ input: child.stdout });
  await Promise.race([
    once(lines, 'line'),
    ended.then(() => {
      throw new Error('River could not connect');
    }),
  ]);
  lines.on('line', (line) => {
    const { id, error } = JSON.parse(line) as { id: number; error?: string };
    if (error === undefined) waiting.get(id)?.resolve();
    else waiting.get(id)?.reject(new Error(error));
    waiting.delete(id);
  });
  let calls = 0;
  const call = (many: boolean, payloads: readonly Payload[]) =>
    new Promise<void>((resolve, reject) => {
      const id = ++calls;
      waiting.set(id, { resolve, reject });
      child.stdin.write(`${JSON.stringify({ id, many, payloads })}\n`);
    });
  return {
    enqueue: (payload) => call(false, [payload]),
    enqueueMany: (payloads) => call(true, payloads),
    close: async () => {
      child.stdin.end();
      await ended;
    },
  };
}
