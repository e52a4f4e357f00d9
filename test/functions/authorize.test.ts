import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { APIGatewayRequestAuthorizerEventV2 } from 'aws-lambda';
import { afterEach, test as base, beforeEach, describe, expect, vi } from 'vitest';
import { KEPT_MS } from '../../functions/authorize/token-source.ts';
import { ROUTES } from '../../functions/lambda/routes.ts';
import { temporaryDirectory } from '../local/bundle.ts';
import { createToken, revokeToken } from '../support/tokens.ts';

const ARN = 'arn:aws:secretsmanager:us-east-1:000000000000:secret:tokens';
const YEAR = 365;

const written = () =>
  vi
    .mocked(process.stdout.write)
    .mock.calls.map(([line]) => String(line))
    .join('');

/** A file of tokens with one of each role in it, and the authorizer that reads it, fresh. */
const test = base
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the dependencies of a fixture from this pattern
  .extend('file', async ({}) => `${await temporaryDirectory()}/tokens.json`)
  .extend('tokens', async ({ file }) => ({
    producer: await createToken(file, { name: 'shop', role: 'producer', days: YEAR }),
    reader: await createToken(file, { name: 'dashboard', role: 'reader', days: YEAR }),
    operator: await createToken(file, { name: 'on-call', role: 'operator', days: YEAR }),
  }))
  .extend('authorize', async ({ file }) => {
    process.env.TOKENS_FILE = file;
    return await fresh();
  });

/** The handler as a new sandbox has it. */
async function fresh() {
  vi.resetModules();
  const { handler } = await import('../../functions/authorize/handler.ts');
  return (authorization?: string, routeKey?: string) => handler(eventWith(authorization, routeKey));
}

function eventWith(authorization: string | undefined, routeKey = 'POST /jobs'): APIGatewayRequestAuthorizerEventV2 {
  return {
    version: '2.0',
    type: 'REQUEST',
    routeArn: 'arn:aws:execute-api:us-east-1:0:api/$default/POST/jobs',
    identitySource: [authorization ?? '', routeKey],
    routeKey,
    rawPath: '/jobs',
    headers: authorization === undefined ? {} : { authorization },
    requestContext: { requestId: 'request-1' },
  } as unknown as APIGatewayRequestAuthorizerEventV2;
}

beforeEach(() => {
  process.env.LOG_LEVEL = 'debug';
  vi.spyOn(process.stdout, 'write').mockReturnValue(true);
});
afterEach(() => {
  for (const name of ['TOKENS_FILE', 'TOKENS_SECRET_ARN', 'AWS_ENDPOINT_URL']) delete process.env[name];
});

const REFUSED = { isAuthorized: false, context: {} };

describe('a token', () => {
  test('that is known opens the door, with its name and role', async ({ authorize, tokens }) => {
    expect(await authorize(`Bearer ${tokens.producer}`)).toEqual({
      isAuthorized: true,
      context: { name: 'shop', role: 'producer' },
    });
    expect(await authorize(`bearer   ${tokens.reader}`)).toMatchObject({
      context: { name: 'dashboard', role: 'reader' },
    });
    expect(await authorize(`BEARER ${tokens.operator} `)).toMatchObject({ context: { role: 'operator' } });
  });

  test('is the same for every route: what the gateway keeps of one would be no other for another', async ({
    authorize,
    tokens,
  }) => {
    for (const routeKey of [...Object.keys(ROUTES), '$default']) {
      expect(await authorize(`Bearer ${tokens.producer}`, routeKey), routeKey).toEqual({
        isAuthorized: true,
        context: { name: 'shop', role: 'producer' },
      });
    }
  });

  test('opens nothing in any other form, and neither does what is not one', async ({ authorize, tokens, file }) => {
    const { operator } = tokens;
    const [stored] = JSON.parse(await readFile(file, 'utf8')).tokens;
    const others = [
      undefined,
      '',
      'Bearer',
      'Bearer ',
      operator,
      `Basic ${operator}`,
      `Bearer ${operator}x`,
      `Bearer ${operator.slice(0, -1)}`,
      `Bearer ${operator.toUpperCase()}`,
      `Bearer ${operator}, Bearer ${tokens.reader}`,
      `Bearer ${operator} ${operator}`,
      `Bearer "${operator}"`,
      `Bearer mlr_${'A'.repeat(43)}`,
      `Bearer ${stored.sha256}`,
      `Bearer ${stored.name}`,
      `Bearer ${'x'.repeat(100_000)}`,
    ];
    for (const other of others) expect(await authorize(other), other).toEqual(REFUSED);
  });

  test('is out at once when it is revoked, and in when it was just made: files are not kept', async ({
    authorize,
    file,
  }) => {
    const token = await createToken(file, { name: 'new', role: 'reader', days: 1 });
    expect(await authorize(`Bearer ${token}`)).toMatchObject({ isAuthorized: true });
    await revokeToken(file, 'new');
    expect(await authorize(`Bearer ${token}`)).toEqual(REFUSED);
  });

  test('never gets into the log, whole or as its hash', async ({ authorize, tokens, file }) => {
    for (const token of [...Object.values(tokens), `mlr_${'B'.repeat(43)}`]) await authorize(`Bearer ${token}`);
    await writeFile(file, `{ "tokens": "${tokens.operator}"`);
    await authorize(`Bearer ${tokens.operator}`).catch((error) => process.stdout.write(String(error.stack)));
    expect(written()).toContain('"caller":"shop"');
    for (const token of [...Object.values(tokens), 'BBBBBBBB']) {
      expect(written()).not.toContain(token);
      expect(written()).not.toContain(createHash('sha256').update(token).digest('hex'));
    }
  });
});

describe('an entry that is not wholly right opens nothing, and leaves the others as they are', () => {
  const TOKEN = `mlr_${'a'.repeat(43)}`;
  const sha256 = createHash('sha256').update(TOKEN).digest('hex');
  const expires_at = new Date(Date.now() + 86_400_000).toISOString();
  const right = { name: 'mine', role: 'operator', sha256, expires_at };

  test('as it should be, it opens', async ({ authorize, tokens: _, file }) => {
    await withEntries(file, right);
    expect(await authorize(`Bearer ${TOKEN}`)).toMatchObject({ isAuthorized: true });
  });

  test('a token that somebody thought up, by whichever right entry', async ({ authorize, tokens: _, file }) => {
    const thoughtUp = ['password1', 'mlr_short', `mlr_${'a'.repeat(44)}`, `MLR_${'a'.repeat(43)}`];
    const hashOf = (token: string) => createHash('sha256').update(token).digest('hex');
    await withEntries(file, ...thoughtUp.map((token, at) => ({ ...right, name: `n${at}`, sha256: hashOf(token) })));
    for (const token of thoughtUp) expect(await authorize(`Bearer ${token}`), token).toEqual(REFUSED);
  });

  test.for<[string, ...unknown[]]>([
    ['expired a second ago', { ...right, expires_at: new Date(Date.now() - 1000).toISOString() }],
    ['no end', { ...right, expires_at: undefined }],
    ['an end that is null', { ...right, expires_at: null }],
    ['an end that is no time', { ...right, expires_at: 'never' }],
    ['an end in no time zone', { ...right, expires_at: '2999-01-01T00:00:00' }],
    ['an end that no calendar has', { ...right, expires_at: '2999-13-41T00:00:00Z' }],
    ['an end as a number', { ...right, expires_at: 32_503_680_000_000 }],
    ['no role', { ...right, role: undefined }],
    ['a role that there is not', { ...right, role: 'admin' }],
    ['a role in capitals', { ...right, role: 'OPERATOR' }],
    ['a list of roles', { ...right, role: ['operator'] }],
    ['a role that every object has', { ...right, role: 'constructor' }],
    ['no name', { ...right, name: '' }],
    ['a name with a line break', { ...right, name: 'a\nb' }],
    ['a name that is no text', { ...right, name: { toString: 1 } }],
    ['the token itself in place of its hash', { ...right, sha256: TOKEN }],
    ['half a hash', { ...right, sha256: sha256.slice(0, 32) }],
    ['a hash in capitals', { ...right, sha256: sha256.toUpperCase() }],
    ['no hash', { ...right, sha256: undefined }],
    ['the same hash twice', right, { ...right, name: 'other', role: 'reader' }],
    ['the same hash twice, once expired', right, { ...right, name: 'other', expires_at: '2020-01-01T00:00:00Z' }],
    ['the same hash twice, once spoilt', right, { sha256: sha256.toUpperCase() }],
    ['the same name twice', right, { ...right, sha256: 'f'.repeat(64) }],
    ['the same entry twice', right, right],
    ['a list', [right]],
    ['a text', JSON.stringify(right)],
    ['null', null],
  ])('%s', async ([, ...entries], { authorize, tokens, file }) => {
    await withEntries(file, ...entries);
    expect(await authorize(`Bearer ${TOKEN}`)).toEqual(REFUSED);
    expect(await authorize(`Bearer ${tokens.producer}`)).toMatchObject({ isAuthorized: true });
  });

  async function withEntries(file: string, ...entries: unknown[]) {
    const { tokens } = JSON.parse(await readFile(file, 'utf8'));
    await writeFile(file, JSON.stringify({ tokens: [...entries, ...tokens] }));
  }
});

describe('without tokens to compare with nobody gets in', () => {
  const ANY = `Bearer mlr_${'a'.repeat(43)}`;

  test('a file that nobody has made yet', async ({ authorize }) => {
    expect(await authorize(ANY)).toEqual(REFUSED);
  });

  test.for(['', 'null', '[]', '{}', '{"tokens":{}}', '{"tokens":"x"}', '{"tokens":[', 'mlr_secret'])(
    'a document %j',
    async (text, { authorize, file }) => {
      await writeFile(file, text);
      await expect(authorize(ANY)).rejects.toThrow(
        /^the document of tokens (is not JSON|must be \{"tokens": \[…\]\})$/,
      );
    },
  );

  test('a file that cannot be read', async () => {
    process.env.TOKENS_FILE = await temporaryDirectory();
    await expect((await fresh())(ANY)).rejects.toThrow('EISDIR');
  });

  test('no setting at all', async () => {
    await expect((await fresh())(ANY)).rejects.toThrow('set TOKENS_SECRET_ARN or TOKENS_FILE');
  });
});

describe('tokens of a secret', () => {
  /** A server that speaks as Secrets Manager does, on loopback: what it holds, and how often it was asked. */
  const withSecret = test.extend('secret', async ({ file, tokens: _ }, { onCleanup }) => {
    const secret = { text: (await readFile(file, 'utf8')) as string | undefined, asked: 0 };
    const server = createServer((request, response) => {
      request.resume().on('end', () => {
        secret.asked += 1;
        response.statusCode = secret.text === undefined ? 400 : 200;
        response.setHeader('content-type', 'application/x-amz-json-1.1');
        const failure = { __type: 'AccessDeniedException', message: 'no' };
        response.end(JSON.stringify(secret.text === undefined ? failure : { SecretString: secret.text }));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onCleanup(() => {
      server.closeAllConnections();
      server.close();
    });
    Object.assign(process.env, {
      TOKENS_SECRET_ARN: ARN,
      AWS_ENDPOINT_URL: `http://127.0.0.1:${(server.address() as { port: number }).port}`,
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: 'test',
      AWS_SECRET_ACCESS_KEY: 'test',
    });
    return secret;
  });

  afterEach(() => vi.useRealTimers());
  const later = (ms: number) => vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + ms });

  withSecret('are read once for all who ask at the same time, and kept', async ({ secret, tokens }) => {
    const authorize = await fresh();
    const answers = await Promise.all(Object.values(tokens).map((token) => authorize(`Bearer ${token}`)));
    expect(answers.map(({ context }) => context.role)).toEqual(['producer', 'reader', 'operator']);
    await authorize(`Bearer ${tokens.reader}`);
    expect(secret.asked).toBe(1);
  });

  withSecret('are believed for 25 s: a token revoked then is out', async ({ secret, tokens }) => {
    expect(KEPT_MS).toBe(25_000);
    const authorize = await fresh();
    expect(await authorize(`Bearer ${tokens.reader}`)).toMatchObject({ isAuthorized: true });
    secret.text = '{"tokens":[]}';
    later(20_000);
    expect(await authorize(`Bearer ${tokens.reader}`)).toMatchObject({ isAuthorized: true });
    later(5001);
    expect(await authorize(`Bearer ${tokens.reader}`)).toEqual(REFUSED);
  });

  /** The gateway: it keeps an answer by token and route, for as long as lib/api/auth.ts tells it to (a test there says so). */
  function gatewayOf(authorize: (authorization: string, routeKey: string) => Promise<{ isAuthorized: boolean }>) {
    const answers = new Map<string, { isAuthorized: boolean; since: number }>();
    return async (token: string, routeKey = 'POST /jobs') => {
      const key = `${token} ${routeKey}`;
      const known = answers.get(key);
      if (known !== undefined && Date.now() - known.since < 30_000) return known.isAuthorized;
      const { isAuthorized } = await authorize(`Bearer ${token}`, routeKey);
      answers.set(key, { isAuthorized, since: Date.now() });
      return isAuthorized;
    };
  }

  withSecret(
    'are changed without a request lost: the new one beside the old, then the old one out',
    async ({ secret, tokens, file }) => {
      const mayPass = gatewayOf(await fresh());
      const began = Date.now();
      const at = (ms: number) => vi.useFakeTimers({ toFake: ['Date'], now: began + ms });
      at(0);
      expect(await mayPass(tokens.producer)).toBe(true);

      const token = await createToken(file, { name: 'shop-2', role: 'producer', days: 1 });
      secret.text = await readFile(file, 'utf8');
      at(25_001);
      expect([await mayPass(token), await mayPass(tokens.producer)]).toEqual([true, true]);

      await revokeToken(file, 'shop');
      secret.text = await readFile(file, 'utf8');
      at(90_000);
      expect([await mayPass(token), await mayPass(tokens.producer), await mayPass(tokens.reader)]).toEqual([
        true,
        false,
        true,
      ]);
    },
  );

  withSecret('that are revoked are out after 60 s, wherever the last answers come from', async ({ secret, tokens }) => {
    const mayPass = gatewayOf(await fresh());
    const began = Date.now();
    const at = (ms: number) => vi.useFakeTimers({ toFake: ['Date'], now: began + ms });
    at(0);
    expect(await mayPass(tokens.reader, 'GET /jobs')).toBe(true);
    // Revoked at once; just before the authorizer reads anew it is asked for another route, and the gateway keeps that.
    secret.text = '{"tokens":[]}';
    at(24_999);
    expect(await mayPass(tokens.reader, 'GET /ready')).toBe(true);
    at(54_998);
    expect(await mayPass(tokens.reader, 'GET /ready')).toBe(true);
    at(60_000);
    expect(await mayPass(tokens.reader, 'GET /jobs')).toBe(false);
    expect(await mayPass(tokens.reader, 'GET /ready')).toBe(false);
  });

  withSecret(
    'that expire are out with the same delay, though nobody has changed anything',
    async ({ tokens: _, secret }) => {
      const token = `mlr_${'c'.repeat(43)}`;
      const sha256 = createHash('sha256').update(token).digest('hex');
      const began = Date.now();
      const expires_at = new Date(began + 10_000).toISOString();
      secret.text = JSON.stringify({ tokens: [{ name: 'brief', role: 'reader', sha256, expires_at }] });
      const authorize = await fresh();
      const mayPass = gatewayOf(authorize);
      vi.useFakeTimers({ toFake: ['Date'], now: began + 9_999 });
      expect(await mayPass(token)).toBe(true);
      vi.useFakeTimers({ toFake: ['Date'], now: began + 10_000 });
      expect(await authorize(`Bearer ${token}`)).toEqual(REFUSED);
      vi.useFakeTimers({ toFake: ['Date'], now: began + 40_000 });
      expect(await mayPass(token)).toBe(false);
    },
  );

  withSecret('are read again when the clock was put back', async ({ secret, tokens }) => {
    const authorize = await fresh();
    await authorize(`Bearer ${tokens.reader}`);
    secret.text = '{"tokens":[]}';
    later(-3_600_000);
    expect(await authorize(`Bearer ${tokens.reader}`)).toEqual(REFUSED);
  });

  withSecret(
    'that cannot be read close the door, for those known before too, and only until they can',
    async ({ secret, tokens }) => {
      const authorize = await fresh();
      const { text } = secret;
      expect(await authorize(`Bearer ${tokens.reader}`)).toMatchObject({ isAuthorized: true });
      secret.text = undefined;
      later(26_000);
      await expect(authorize(`Bearer ${tokens.reader}`)).rejects.toMatchObject({ name: 'AccessDeniedException' });
      secret.text = text;
      expect(await authorize(`Bearer ${tokens.reader}`)).toMatchObject({ isAuthorized: true });
    },
  );

  withSecret('count, and a file beside them does not', async ({ secret, tokens, file }) => {
    secret.text = '{"tokens":[]}';
    process.env.TOKENS_FILE = file;
    expect(await (await fresh())(`Bearer ${tokens.operator}`)).toEqual(REFUSED);
  });
});
