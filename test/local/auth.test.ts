import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROLES, type Role } from '../../functions/lambda/role.ts';
import { TOKENS_FILE } from '../../local/tokens-file.ts';
import { ALLOWED } from '../functions/allowed.ts';
import { test as base, describe, expect, vi } from '../support/fixtures.ts';
import { createToken, revokeToken } from '../support/tokens.ts';
import { adoptApp, launch, tokensIn } from './project.ts';

// The first test waits for the stack to be synthesized, which takes 5 s of a core that is idle.
vi.setConfig({ testTimeout: 120_000 });

interface Api {
  readonly url: string;
  readonly tokensFile: string;
  /** A token of each role. */
  readonly tokens: Readonly<Record<Role, string>>;
}

/** `api`: the stack of this repository as `MILLRACE_AUTH=on npm start` runs it, for the whole file. */
const test = base.extend('api', { scope: 'file' }, async ({ fileDatabase }, { onCleanup }): Promise<Api> => {
  const directory = await mkdtemp(join(tmpdir(), 'millrace-auth-'));
  await adoptApp(directory);
  const tokens = await tokensIn(directory);
  const tokensFile = join(directory, '.millrace', TOKENS_FILE);
  const { ready, stop } = launch(directory, { DATABASE_URL: fileDatabase.url, MILLRACE_AUTH: 'on' });
  onCleanup(async () => {
    await stop();
    await rm(directory, { recursive: true, force: true });
  });
  return { url: await ready, tokensFile, tokens };
});

async function send(
  { url }: Api,
  method: string,
  target: string,
  authorization?: string,
  body?: object,
  headers: Record<string, string> = {},
) {
  const answer = await fetch(`${url}${target}`, {
    method,
    headers: {
      ...(body && { 'content-type': 'application/json' }),
      ...(authorization !== undefined && { authorization }),
      ...headers,
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: answer.status, text: await answer.text() };
}

const UNAUTHORIZED = { status: 401, text: '{"message":"Unauthorized"}' };
const FORBIDDEN = { status: 403, text: '{"message":"Forbidden"}' };

describe('MILLRACE_AUTH=on', () => {
  for (const { route, target, body, roles, status } of ALLOWED) {
    test(`${route}${target.replace(/[^?]*/, '')} is for ${roles.join(', ')}`, async ({ api }) => {
      const method = route.split(' ')[0] as string;
      for (const role of ROLES) {
        const answer = await send(api, method, target, `Bearer ${api.tokens[role]}`, body);
        expect(answer.status, role).toBe(roles.includes(role) ? status : 403);
        if (!roles.includes(role)) expect(answer.text).toContain('urn:millrace:problem:forbidden');
      }
      const open = route === 'GET /health' ? { status: 200 } : undefined;
      expect(await send(api, method, target, undefined, body)).toMatchObject(open ?? UNAUTHORIZED);
      expect(await send(api, method, target, 'Bearer mlr_unknown', body)).toMatchObject(open ?? FORBIDDEN);
    });
  }

  test("who intervened is in the operators' log, by the token's name and the request's id", async ({
    api,
    fileDatabase,
  }) => {
    const body = { kind: 'hello.greet', payload: { name: 'Ada' }, delay_seconds: 3600 };
    const job = await send(api, 'POST', '/jobs', `Bearer ${api.tokens.producer}`, body, { 'x-request-id': 'order-7' });
    const { id } = JSON.parse(job.text);
    const cancelled = await send(api, 'POST', `/jobs/${id}/cancel`, `Bearer ${api.tokens.operator}`, undefined, {
      'x-request-id': 'second-thoughts',
    });
    expect(cancelled.status).toBe(200);
    const { rows } = await fileDatabase.pool.query(
      `SELECT j.request_id AS job, l.actor, l.action, l.request_id
       FROM millrace.jobs j
       JOIN millrace.operator_log l ON l.target->>'id' = j.id::text
       WHERE j.id = $1`,
      [id],
    );
    expect(rows).toEqual([{ job: 'order-7', actor: 'a-operator', action: 'cancel', request_id: 'second-thoughts' }]);
  });

  test('an outsider cannot tell which routes there are', async ({ api }) => {
    expect(await send(api, 'GET', '/nowhere')).toEqual(UNAUTHORIZED);
    expect(await send(api, 'GET', '/nowhere', 'Bearer mlr_unknown')).toEqual(FORBIDDEN);
    expect(await send(api, 'GET', '/nowhere', `Bearer ${api.tokens.producer}`)).toMatchObject({ status: 404 });
  });

  test('a token counts once it is made, until it is revoked', async ({ api }) => {
    const token = await createToken(api.tokensFile, { name: 'visitor', role: 'reader', days: 1 });
    expect(await send(api, 'GET', '/ready', `Bearer ${token}`)).toMatchObject({ status: 200 });
    await revokeToken(api.tokensFile, 'visitor');
    expect(await send(api, 'GET', '/ready', `Bearer ${token}`)).toEqual(FORBIDDEN);
  });

  test('tokens that cannot be read close the door', async ({ api }) => {
    const kept = await readFile(api.tokensFile, 'utf8');
    await writeFile(api.tokensFile, 'x');
    const authorization = `Bearer ${api.tokens.operator}`;
    expect(await send(api, 'GET', '/jobs', authorization)).toEqual({
      status: 500,
      text: '{"message":"Internal Server Error"}',
    });
    await writeFile(api.tokensFile, kept);
    expect(await send(api, 'GET', '/jobs', authorization)).toMatchObject({ status: 200 });
  });
});
