import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { adoptApp, launch, tokensIn } from '../local/project.ts';

/** The API under `npm start` with tokens switched on, behind a relay, and the environment of an operator's shell. */
export async function startApi(databaseUrl: string) {
  const directory = await mkdtemp(join(tmpdir(), 'millrace-bad-day-'));
  const { operator } = await tokensIn(directory);
  await adoptApp(directory);
  const { ready, stop } = launch(directory, { DATABASE_URL: databaseUrl, MILLRACE_AUTH: 'on' });
  onTestFinished(async () => {
    await stop();
    await rm(directory, { recursive: true, force: true });
  });
  const relay = await startRelay(await ready);
  return { relay, env: { MILLRACE_URL: relay.url, MILLRACE_TOKEN: operator } };
}

interface Relay {
  readonly url: string;
  /** The third step from now on goes through when this is over. */
  holdThird: () => Promise<void>;
}

async function startRelay(api: string): Promise<Relay> {
  let steps = 0;
  let hold = async () => {};
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const { method = '', url = '', headers } = request;
    if (url === '/jobs/redrive' && ++steps === 3) await hold();
    httpRequest(api + url, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 0, answer.headers);
      answer.pipe(response);
    }).end(body);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    set holdThird(wait: () => Promise<void>) {
      steps = 0;
      hold = wait;
    },
  };
}
