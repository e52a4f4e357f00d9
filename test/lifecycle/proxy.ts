import { createConnection, createServer, type Socket } from 'node:net';

/** A TCP proxy on the loopback in front of a Postgres, that can misbehave as networks do. */
export interface Proxy {
  /** The database through the proxy. */
  readonly url: string;
  /**
   * Carries the next statement that holds `marker` to the server, swallows the answer and hangs up. Resolves when the
   * server has answered, so the statement is done and only its sender does not know.
   */
  loseAnswerTo(marker: string): Promise<void>;
  /** Hangs up on the next statement that holds `marker`: the server never sees it. */
  loseStatement(marker: string): Promise<void>;
  /** Lets the next statement that holds `marker` pass and hangs on to its answer for good: the sender waits. */
  swallowAnswerTo(marker: string): Promise<void>;
  /** Hangs on to the next statement that holds `marker`, and to all that its sender says after it: the server never sees it. */
  holdStatement(marker: string): Promise<void>;
  /** Hangs up on everybody. */
  cut(): void;
  close(): Promise<void>;
}

interface Trap {
  readonly marker: Buffer;
  readonly on: 'statement' | 'held' | 'answer' | 'silence';
  sprung(): void;
}

/** First byte of the server's ReadyForQuery, its length and the state "idle or in a transaction": the end of an answer. */
const READY = Buffer.from([0x5a, 0, 0, 0, 5]);

export async function startProxy(databaseUrl: string): Promise<Proxy> {
  const target = new URL(databaseUrl);
  const traps = new Set<Trap>();
  const open = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = createConnection(Number(target.port || 5432), target.hostname);
    const hangUp = () => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on('error', hangUp);
      socket.on('close', () => {
        open.delete(socket);
        hangUp();
      });
    }
    let caught: Trap | undefined;
    // A marker may come in two pieces. One that has come whole is that of a statement before, and not seen again.
    let last = Buffer.alloc(0);
    client.on('data', (data) => {
      const begun = last;
      last = Buffer.concat([last, data]).subarray(-200);
      for (const trap of traps) {
        const seen = Buffer.concat([begun.subarray(1 - trap.marker.length), data]);
        if (caught || !seen.includes(trap.marker)) continue;
        traps.delete(trap);
        caught = trap;
      }
      if (caught?.on === 'statement') {
        caught.sprung();
        hangUp();
        return;
      }
      if (caught?.on === 'held') {
        caught.sprung();
        return;
      }
      upstream.write(data);
    });
    upstream.on('data', (data) => {
      if (!caught) {
        client.write(data);
        return;
      }
      if (!data.includes(READY)) return;
      if (caught.on === 'answer') hangUp();
      caught.sprung();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(databaseUrl);
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as { port: number }).port);

  const trap = (on: Trap['on'], marker: string) =>
    new Promise<void>((sprung) => {
      traps.add({ marker: Buffer.from(marker), on, sprung });
    });
  const cut = () => {
    for (const socket of open) socket.destroy();
  };
  return {
    url: url.href,
    loseAnswerTo: (marker) => trap('answer', marker),
    loseStatement: (marker) => trap('statement', marker),
    holdStatement: (marker) => trap('held', marker),
    swallowAnswerTo: (marker) => trap('silence', marker),
    cut,
    close: () => {
      cut();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
