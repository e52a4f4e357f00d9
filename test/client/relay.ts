import { once } from 'node:events';
import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { Seen } from './server.ts';

/** An HTTP relay on loopback in front of the API, that loses answers as networks do. */
export interface Relay {
  readonly url: string;
  /** What went through it. */
  readonly seen: readonly Seen[];
  /** Hangs up once the API has answered the next request of this method whose target ends so: its work is done, and its sender does not know. */
  loseAnswerTo(method: string, targetEnd: string): void;
  close(): void;
}

/** `rewrite`: what it makes of the body of a request. */
export async function startRelay(api: string, rewrite = (text: string) => text): Promise<Relay> {
  const seen: Seen[] = [];
  const traps: { method: string; targetEnd: string }[] = [];
  const server = createServer(async (request, response) => {
    const body = await buffer(request);
    const { method = '', url: target = '', headers: given } = request;
    const text = rewrite(body.toString());
    const headers = text === '' ? given : { ...given, 'content-length': String(Buffer.byteLength(text)) };
    seen.push({ method, target, headers, text, body: text && JSON.parse(text), at: performance.now() });
    const onward = httpRequest(api + target, { method, headers }, async (answer) => {
      const content = await buffer(answer);
      const trap = traps.findIndex((one) => one.method === method && target.endsWith(one.targetEnd));
      if (trap >= 0) {
        traps.splice(trap, 1);
        request.socket.destroy();
        return;
      }
      response.writeHead(answer.statusCode ?? 0, answer.headers).end(content);
    });
    onward.once('error', () => request.socket.destroy());
    response.once('close', () => onward.destroy());
    onward.end(text);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    loseAnswerTo: (method, targetEnd) => void traps.push({ method, targetEnd }),
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
