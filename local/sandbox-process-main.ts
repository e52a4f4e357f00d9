import type { Ending } from './function.ts';
import { handle, loadHandler, thrown } from './handler.ts';
import type { FromProcess, ToProcess } from './sandbox-process.ts';

/** Seconds that a drain may take once nobody is left to kill this process at its timeout. */
const ORPHAN_GRACE_SECONDS = 5;

/** Runs inside the process of one invocation: loads the bundle, says so, answers once, ends. */
const [directory = '', name = ''] = process.argv.slice(2);

process.once('disconnect', () => {
  // Nobody reads any more what it writes: that must not be what ends its drain.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  // The runtime died. What Lambda does at a shutdown happens here too, and then nothing of it may stay.
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), ORPHAN_GRACE_SECONDS * 1000).unref();
  process.kill(process.pid, 'SIGTERM');
});

try {
  const handler = await loadHandler(directory, name);
  process.once('message', async (invocation: ToProcess) => end(await handle(handler, invocation)));
  tell('loaded');
} catch (error) {
  end({ kind: 'threw', error: thrown(error) });
}

function end(ending: Ending): void {
  if (!process.connected) process.exit(0);
  tell(ending, () => process.exit(0));
}

function tell(message: FromProcess, sent?: () => void): void {
  process.send?.(message, undefined, undefined, () => sent?.());
}
