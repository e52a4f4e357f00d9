import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** Stands before an API or a database, and can be as gone as either when it restarts: nobody is let in, everybody is out. */
export interface Gate {
  /** What was given, through the gate. */
  readonly url: string;
  shut(): Promise<void>;
  open(): Promise<void>;
}

export async function startGate(url: string): Promise<Gate> {
  const behind = new URL(url);
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    const onward = connect(Number(behind.port), behind.hostname);
    for (const [one, other] of [
      [socket, onward],
      [onward, socket],
    ] as const) {
      sockets.add(one);
      one.on('error', () => {}).on('close', () => other.destroy());
      one.pipe(other);
    }
  });
  const open = async (port: number) => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  };
  const shut = async () => {
    const closed = once(server, 'close');
    server.close();
    for (const socket of sockets) socket.destroy();
    sockets.clear();
    await closed;
  };
  await open(0);
  const { port } = server.address() as AddressInfo;
  onTestFinished(async () => {
    if (server.listening) await shut();
  });
  const through = new URL(url);
  through.hostname = '127.0.0.1';
  through.port = String(port);
  return { url: through.href, shut, open: () => open(port) };
}
