import { connect, createServer, type Socket } from 'node:net';

/** A statement as it came over the wire. `name`: of the prepared statement or the portal that it makes, '' for none. */
export interface Sent {
  readonly text: string;
  readonly name: string;
}

/** Stands between clients and a Postgres on loopback, and writes down what they send. */
export interface Wire {
  /** The database by way of it. */
  readonly url: string;
  readonly sent: readonly Sent[];
  close(): Promise<void>;
}

export async function listenIn(databaseUrl: string): Promise<Wire> {
  const target = new URL(databaseUrl);
  const sent: Sent[] = [];
  const open = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    const read = reader((message) => sent.push(...statementsOf(message)));
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
      read(data);
      upstream.write(data);
    });
    upstream.on('data', (data) => client.write(data));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(databaseUrl);
  url.port = String((server.address() as { port: number }).port);
  return {
    url: url.href,
    sent,
    close: async () => {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface Message {
  readonly type: string;
  readonly body: Buffer;
}

/** Cuts a stream into messages (Postgres manual, 54.7). The first of a connection has no type; TLS is not asked for on loopback. */
function reader(take: (message: Message) => void): (data: Buffer) => void {
  let left = Buffer.alloc(0);
  let begun = false;
  return (data) => {
    left = Buffer.concat([left, data]);
    for (;;) {
      const head = begun ? 1 : 0;
      if (left.length < head + 4) return;
      const end = head + left.readInt32BE(head);
      if (left.length < end) return;
      if (begun) take({ type: left.toString('latin1', 0, 1), body: left.subarray(5, end) });
      begun = true;
      left = left.subarray(end);
    }
  };
}

function statementsOf({ type, body }: Message): Sent[] {
  const [first = '', second = ''] = body.toString('utf8').split('\0', 2);
  switch (type) {
    case 'Q': // Query: its text
      return [{ text: first, name: '' }];
    case 'P': // Parse: the name of the statement, its text
      return [{ text: second, name: first }];
    case 'B': // Bind: the portal, the statement
      return first || second ? [{ text: '', name: first || second }] : [];
    default:
      return [];
  }
}
