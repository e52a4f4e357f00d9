import { once } from 'node:events';
import { createConnection, createServer, type Socket } from 'node:net';

/** A TCP proxy on the loopback in front of a Postgres, that takes its time as a network does. */
export interface DelayingProxy {
  /** The database through the proxy. */
  readonly url: string;
  close(): Promise<void>;
}

/** `roundTripMs`: what it adds to a question and its answer, one half to each. */
export async function startDelayingProxy(databaseUrl: string, roundTripMs: number): Promise<DelayingProxy> {
  const target = new URL(databaseUrl);
  const open = new Set<Socket>();
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = createConnection({ port: Number(target.port), host: target.hostname, noDelay: true });
    const hangUp = () => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on('error', hangUp);
      socket.on('close', () => open.delete(socket));
    }
    carry(client, upstream, roundTripMs / 2);
    carry(upstream, client, roundTripMs / 2);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(databaseUrl);
  url.port = String((server.address() as { port: number }).port);
  return {
    url: url.href,
    close: async () => {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** In their order: Node fires timers of one length in the order in which they were set. */
function carry(from: Socket, to: Socket, ms: number): void {
  from.on('data', (data) => {
    setTimeout(() => to.destroyed || to.write(data), ms);
  });
  from.on('end', () => {
    setTimeout(() => to.end(), ms);
  });
}
