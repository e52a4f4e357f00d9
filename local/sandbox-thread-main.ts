import { parentPort, workerData } from 'node:worker_threads';
import { handle, loadHandler } from './handler.ts';
import type { FromThread, ThreadData, ToThread } from './sandbox-thread.ts';

/** Runs inside the thread of an HTTP function: loads the bundle once, then answers every invocation. */
const { directory, handler: name } = workerData as ThreadData;
const handler = await loadHandler(directory, name);

parentPort?.on('message', async ({ id, invocation }: ToThread) => {
  const answer: FromThread = { id, ending: await handle(handler, invocation) };
  parentPort?.postMessage(answer);
});
parentPort?.postMessage('loaded' satisfies FromThread);
