/** Milliseconds that a try to reach Lambda may take, of two. */
const TRY_MS = 500;

/**
 * Its part of the SDK takes longer to load than to use, so that begins with the sandbox: while it starts Lambda gives it
 * more of a CPU than later, and then the request waits for the database. Without WAKE_FUNCTIONS nobody needs it.
 */
const loading = process.env.WAKE_FUNCTIONS ? import('#sdk/lambda') : undefined;
// Whoever needs it is told.
loading?.catch(() => {});

/** What a worker is started with: it takes the first slot, if nobody has it, and lingers. */
const WAKE = JSON.stringify({ slot: 0, woken: true });

/** Starts these functions. Asynchronously: Lambda answers once it has taken the event. */
export async function startWorkers(functions: readonly string[], signal: AbortSignal): Promise<void> {
  const { InvokeCommand, LambdaClient } = await (loading ?? import('#sdk/lambda'));
  // A new one each time: a sandbox that was frozen since has dead sockets.
  const client = new LambdaClient({
    maxAttempts: 2,
    requestHandler: { connectionTimeout: TRY_MS, requestTimeout: TRY_MS, throwOnRequestTimeout: true },
  });
  const start = (FunctionName: string) =>
    client.send(new InvokeCommand({ FunctionName, InvocationType: 'Event', Payload: WAKE }), { abortSignal: signal });
  try {
    await Promise.all(functions.map(start));
  } finally {
    client.destroy();
  }
}
