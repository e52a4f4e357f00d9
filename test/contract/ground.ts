import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { request as httpRequest, type OutgoingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as streamText } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type pg from 'pg';
import { ROLES, type Role } from '../../functions/lambda/role.ts';
import { TOKENS_FILE } from '../../local/tokens-file.ts';
import { startProxy, type Proxy as TcpProxy } from '../lifecycle/proxy.ts';
import { launch } from '../local/project.ts';
import type { Answered } from '../openapi/expect-answer.ts';
import { createToken } from '../support/tokens.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** The API under `npm start` with tokens switched on, and what lies behind it. */
export interface Ground {
  readonly send: Send;
  /** Straight to the database. */
  readonly db: pg.Pool;
  readonly databaseUrl: string;
  /** Between the API and the database. */
  readonly proxy: TcpProxy;
  /** What was synthesized for it. */
  readonly assembly: string;
}

export interface Request {
  /** `POST /jobs/0196…/cancel?…`. */
  readonly to: string;
  /** Whose token it carries; null: none. Default `operator`. */
  readonly as?: Role | 'stranger' | null;
  /** Sent as it is if it is text, else as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Announces a body of that many bytes, and waits for the answer without sending it. */
  readonly announcedBytes?: number;
}

export type Send = (request: Request) => Promise<Answered>;

export interface GroundOptions {
  /** URL that it reaches the database by. Default: that of the owner. */
  readonly databaseUrl?: string;
  /** An assembly to run in place of the repository's app. */
  readonly assembly?: string;
}

/** Starts it; the last member ends it. */
export async function startGround(
  { url, pool: db }: { readonly url: string; readonly pool: pg.Pool },
  { databaseUrl = url, assembly }: GroundOptions = {},
): Promise<Ground & { stop(): Promise<void> }> {
  const directory = await mkdtemp(join(tmpdir(), 'millrace-contract-'));
  const tokens = await tokensIn(directory);
  await writeFile(join(directory, 'cdk.json'), JSON.stringify(await appOf(assembly)));
  const proxy = await startProxy(databaseUrl);
  const { ready, stop } = launch(directory, { DATABASE_URL: proxy.url, MILLRACE_AUTH: 'on' });
  const end = async () => {
    await stop();
    await proxy.close();
    await rm(directory, { recursive: true, force: true });
  };
  const api = await ready.catch(async (error) => {
    await end();
    throw error;
  });
  return {
    send: (request) => send(api, tokens, request),
    db,
    databaseUrl: url,
    proxy,
    assembly: join(directory, '.millrace', 'cdk.out'),
    stop: end,
  };
}

async function tokensIn(directory: string): Promise<Record<Role | 'stranger', string>> {
  const file = join(directory, '.millrace', TOKENS_FILE);
  await mkdir(join(directory, '.millrace'));
  const made = [];
  for (const role of ROLES) made.push([role, await createToken(file, { name: role, role, days: 1 })]);
  return { ...Object.fromEntries(made), stranger: `mlr_${'x'.repeat(43)}` };
}

async function appOf(assembly: string | undefined) {
  if (assembly !== undefined) return { app: `cp -R "${assembly}/." "$CDK_OUTDIR"` };
  const { context } = JSON.parse(await readFile(join(root, 'cdk.json'), 'utf8'));
  return { app: `node "${root}bin/app.ts"`, context };
}

async function send(
  url: string,
  tokens: Readonly<Record<string, string>>,
  { to, as = 'operator', body, headers: own = {}, announcedBytes }: Request,
): Promise<Answered> {
  const [method = 'GET', target = '/'] = to.split(/ (.*)/);
  const headers = {
    ...(as !== null && { authorization: `Bearer ${tokens[as]}` }),
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...own,
  };
  if (announcedBytes !== undefined) return announce(url + target, method, headers, announcedBytes);
  const response = await fetch(url + target, {
    method,
    headers,
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  return answered(response.status, Object.fromEntries(response.headers), await response.text());
}

function announce(url: string, method: string, headers: OutgoingHttpHeaders, bytes: number): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method, headers: { ...headers, 'content-length': bytes } }, async (response) => {
      const text = await streamText(response);
      request.destroy();
      resolve(answered(response.statusCode ?? 0, response.headers as Record<string, string>, text));
    });
    request.once('error', reject);
    request.flushHeaders();
  });
}

function answered(status: number, headers: Readonly<Record<string, string>>, text: string): Answered {
  const isJson = headers['content-type']?.includes('json') && text !== '';
  return { status, headers, text, body: isJson ? JSON.parse(text) : undefined };
}
