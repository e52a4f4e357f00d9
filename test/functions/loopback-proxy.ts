import { connect, createServer, type Socket } from 'node:net';

/** Stands between a client and Postgres on loopback, and fails as networks do. */
export interface LoopbackProxy {
  /** The database by way of this proxy. */
  readonly url: string;
  /** `refuse` ends new connections at once, `hang` answers nothing any more, `pass` is a healthy network. */
  mode: 'pass' | 'refuse' | 'hang';
  /** Connections made so far. */
  readonly connections: number;
  /** Ends every connection that is open. */
  cut(): void;
  /** An answer of the server, the next or a later one, arrives here and is lost with its connection. Resolves when that happened. */
  loseAnswer(skipped?: number): Promise<void>;
  close(): Promise<void>;
}

export async function loopbackProxy(databaseUrl: string): Promise<LoopbackProxy> {
  const target = new URL(databaseUrl);
  const open = new Set<Socket>();
  let losing: { skipped: number; done: () => void } | undefined;
  const proxy = { mode: 'pass' as LoopbackProxy['mode'], connections: 0 };

  const server = createServer((client) => {
    proxy.connections++;
    if (proxy.mode === 'refuse') return client.destroy();
    const upstream = connect(Number(target.port), target.hostname);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        open.delete(socket);
        other.destroy();
      });
    }
    client.on('data', (data) => {
      if (proxy.mode === 'pass') upstream.write(data);
    });
    upstream.on('data', (data) => {
      if (losing !== undefined && losing.skipped-- === 0) {
        client.destroy();
        losing.done();
        losing = undefined;
      } else if (proxy.mode === 'pass') client.write(data);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(databaseUrl);
  url.port = String((server.address() as { port: number }).port);

  const cut = () => {
    for (const socket of open) socket.destroy();
  };
  return Object.assign(proxy, {
    url: url.href,
    cut,
    loseAnswer: (skipped = 0) =>
      new Promise<void>((resolve) => {
        losing = { skipped, done: resolve };
      }),
    close: async () => {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}
