import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { StartError } from './start-error.ts';

/** Opens the port on loopback, 0 picks a free one; resolves the URL. @throws StartError `port_taken` */
export function listen(server: Server, port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => reject(portError(port, cause)));
    server.listen(port, '127.0.0.1', () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
  });
}

function portError(port: number, cause: NodeJS.ErrnoException): StartError {
  if (cause.code === 'EADDRINUSE') {
    return new StartError(
      'port_taken',
      `Port ${port} is taken by another program: stop that one, or choose another port with PORT=${port + 1} (PORT=0 picks a free one).`,
      { cause },
    );
  }
  if (cause.code === 'EACCES') {
    return new StartError(
      'port_taken',
      `Port ${port} needs rights that you do not have: choose one from 1024 on, such as PORT=3000.`,
      { cause },
    );
  }
  return new StartError(
    'port_taken',
    `Port ${port} cannot be opened (${cause.code ?? cause.message}): choose another with PORT=….`,
    { cause },
  );
}
