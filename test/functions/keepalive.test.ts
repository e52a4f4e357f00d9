import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { platform } from 'node:os';
import { connector } from '../../functions/lambda/connect.ts';
import { expect, test } from '../support/fixtures.ts';

/** Fields of a line of /proc/net/tcp: local address, remote address, timer (kernel manual, proc_net_tcp). */
const [LOCAL, REMOTE, TIMER] = [1, 2, 5];
/** The timer that sends keepalive probes. */
const KEEPALIVE = '02';

test.runIf(platform() === 'linux')(
  'a connection of a function is probed when it is silent for half a minute, long before a NAT gateway forgets it',
  async ({ directUrl }) => {
    const client = (await connector({ DATABASE_URL: directUrl }, 'test')()) as unknown as {
      connection: { stream: Socket };
      end(): Promise<void>;
    };
    const { localPort = 0, remotePort = 0 } = client.connection.stream;
    const port = (number: number) => `:${number.toString(16).toUpperCase().padStart(4, '0')}`;
    const line = readFileSync('/proc/net/tcp', 'utf8')
      .split('\n')
      .map((text) => text.trim().split(/\s+/))
      .find((fields) => fields[LOCAL]?.endsWith(port(localPort)) && fields[REMOTE]?.endsWith(port(remotePort)));
    const [timer, hundredths = ''] = line?.[TIMER]?.split(':') ?? [];
    expect(timer).toBe(KEEPALIVE);
    expect(Number.parseInt(hundredths, 16) / 100).toBeLessThanOrEqual(30);
    await client.end();
  },
);
