import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { isRole, type Role } from '../../functions/lambda/role.ts';
import { test as withApi } from '../functions/api.ts';
import { vi } from '../support/fixtures.ts';
import { here, type Said } from './here.ts';

export { describe, expect, vi } from '../support/fixtures.ts';

export type Way = 'http' | 'sql';
/** Every acting command does the same by either. */
export const WAYS: readonly Way[] = ['http', 'sql'];
/** As operator_log names who acts. */
export const ACTOR: Readonly<Record<Way, string>> = { http: 'test-operator', sql: 'ada' };

/** A request of the command as it came, and a chance to keep it waiting. */
export interface Front {
  readonly url: string;
  /** Resolves when the request may go on; a role is then that of its token. */
  before: (target: string) => Promise<Role | undefined> | Role | undefined;
  /** Hangs up on the next request once the API has done its work. */
  losesNext: boolean;
}

/**
 * `front`: the API's own handlers behind HTTP; a token is the name of its role. `act`: a command line on this test's database,
 * one way or the other, as an operator.
 */
export const test = withApi
  .extend('front', async ({ call }, { onCleanup }): Promise<Front> => {
    const server = createServer(async (request, response) => {
      const { method = '', url = '', headers } = request;
      const body = await text(request);
      const role = (await front.before(url)) ?? headers.authorization?.replace('Bearer ', '');
      const sent = { headers: headers as Record<string, string>, ...(body && { body }) };
      const answer = await call(method, url, { ...sent, as: isRole(role) ? role : null });
      if (front.losesNext) {
        front.losesNext = false;
        request.socket.destroy();
      } else response.writeHead(answer.status, answer.headers).end(answer.text);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const front: Front = {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      before: () => undefined,
      losesNext: false,
    };
    onCleanup(() => {
      server.closeAllConnections();
      server.close();
    });
    return front;
  })
  .extend('act', async ({ front }, { onCleanup }) => {
    vi.stubEnv('MILLRACE_TOKEN', 'operator');
    onCleanup(() => void vi.unstubAllEnvs());
    return (way: Way, ...args: string[]): Promise<Said> =>
      here(...args, ...(way === 'http' ? ['--url', front.url] : ['--sql', '--as', ACTOR.sql]));
  });
