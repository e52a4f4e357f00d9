import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import type pg from 'pg';
import { type LoopbackProxy, loopbackProxy } from '../functions/loopback-proxy.ts';
import { type DocumentedAnswer, documented } from '../openapi/documented.ts';
import { type Answered, expectAnswer, isGateways } from '../openapi/expect-answer.ts';
import { describe, expect, test as withDatabase } from '../support/fixtures.ts';
import { changedAssembly, ofType, type Resources } from './assembly.ts';
import { type Ground, type Send, startGround } from './ground.ts';
import { normal } from './normal.ts';
import { sampleOf } from './sample.ts';

/** The answers with 5xx: what comes of a database that fails every statement, and of functions that fail. */
const answers = documented.filter(({ status }) => status >= 500);

interface Ailing extends Ground {
  /** Between the API and the database, and can fail as networks do. */
  readonly network: LoopbackProxy;
  /** The role by which the API reaches the database. */
  readonly role: string;
}

const test = withDatabase
  .extend('ailing', { scope: 'file' }, async ({ fileDatabase }, { onCleanup }): Promise<Ailing> => {
    const { role, url, drop } = await ownRole(fileDatabase);
    const network = await loopbackProxy(url);
    const ground = await startGround(fileDatabase, { databaseUrl: network.url });
    onCleanup(async () => {
      await ground.stop();
      await network.close();
      await drop();
    });
    return { ...ground, network, role };
  })
  // The same with functions that give up after 4 s in place of 19.
  .extend(
    'hasty',
    { scope: 'file' },
    async ({ fileDatabase, ailing }, { onCleanup }): Promise<Ground & { network: LoopbackProxy }> => {
      const network = await loopbackProxy(fileDatabase.url);
      const assembly = await changedAssembly(ailing.assembly, (resources) => {
        for (const { Properties } of ofType(resources, 'AWS::Lambda::Function')) Properties.Timeout = 5;
      });
      const ground = await startGround(fileDatabase, { databaseUrl: network.url, assembly });
      onCleanup(async () => {
        await network.close();
        await ground.stop();
        await rm(assembly, { recursive: true });
      });
      return { ...ground, network };
    },
  )
  // Functions that end at once, or never, as the request says.
  .extend('broken', { scope: 'file' }, async ({ fileDatabase, ailing }, { onCleanup }): Promise<Ground> => {
    const assembly = await changedAssembly(ailing.assembly, breakFunctions, { 'broken/index.mjs': BROKEN });
    const ground = await startGround(fileDatabase, { assembly });
    onCleanup(async () => {
      await ground.stop();
      await rm(assembly, { recursive: true });
    });
    return ground;
  });

const BROKEN = `export const handler = (event) =>
  event.headers['x-request-id'] === 'hangs' ? new Promise(() => setInterval(() => {}, 1000)) : process.exit(1);`;

function breakFunctions(resources: Resources): void {
  for (const integration of ofType(resources, 'AWS::ApiGatewayV2::Integration')) {
    integration.Properties.TimeoutInMillis = 3000;
    const target = JSON.stringify(integration.Properties.IntegrationUri);
    for (const [id, { Metadata = {} }] of Object.entries(resources)) {
      if (target.includes(`"${id}"`)) Metadata['aws:asset:path'] = 'broken';
    }
  }
}

/** A role with the rights of a function and no more, so that they can be taken away. */
async function ownRole({ url, pool }: { readonly url: string; readonly pool: pg.Pool }) {
  const role = `millrace_test_${randomBytes(6).toString('hex')}`;
  const own = new URL(url);
  own.username = role;
  own.password = randomBytes(12).toString('hex');
  await pool.query(`
    CREATE ROLE ${role} LOGIN PASSWORD '${own.password}';
    GRANT USAGE ON SCHEMA millrace TO ${role};
    GRANT ALL ON ALL TABLES IN SCHEMA millrace TO ${role};
    GRANT ALL ON ALL FUNCTIONS IN SCHEMA millrace TO ${role}`);
  return { role, url: own.href, drop: () => pool.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`) };
}

/** Breaks what lies behind the API until it is mended again. */
const BREAKAGES: Readonly<Record<string, (ground: Ailing) => Promise<() => unknown>>> = {
  'database-unavailable': async ({ network }) => {
    network.mode = 'refuse';
    network.cut();
    return () => {
      network.mode = 'pass';
    };
  },
  'schema-outdated': async ({ db }) => {
    await db.query('ALTER SCHEMA millrace RENAME TO elsewhere');
    return () => db.query('ALTER SCHEMA elsewhere RENAME TO millrace');
  },
  // A mistake of whoever deploys it, which nothing in the code foresees.
  'internal-error': async ({ db, role }) => {
    await db.query(`REVOKE USAGE ON SCHEMA millrace FROM ${role}`);
    return () => db.query(`GRANT USAGE ON SCHEMA millrace TO ${role}`);
  },
};

test.beforeAll(({ ailing, hasty, broken }) => void [ailing, hasty, broken], 120_000);

const common: Record<string, unknown> = {};

describe('when the database fails', () => {
  test.for(Object.keys(BREAKAGES))('%s', async (name, { ailing }) => {
    const mend = await (BREAKAGES[name] as (ground: Ailing) => Promise<() => unknown>)(ailing);
    await expectInTurn(name, ailing.send).finally(mend);
  });

  test('timeout', async ({ hasty }) => {
    // The connections are there, and nothing comes over them any more.
    await Promise.all(named('timeout').map(({ operation }) => hasty.send(sampleOf(operation))));
    hasty.network.mode = 'hang';
    await expectAtOnce('timeout', hasty.send);
  });
});

describe('when a function fails', () => {
  const sending =
    ({ send }: Ground, how: 'ends' | 'hangs'): Send =>
    (request) =>
      send({ ...request, headers: { 'x-request-id': how } });

  test('gateway-failed', async ({ broken }) => {
    await expectInTurn('gateway-failed', sending(broken, 'ends'));
  });

  test('gateway-unavailable', async ({ broken }) => {
    await expectAtOnce('gateway-unavailable', sending(broken, 'hangs'));
  });
});

test('every documented answer is asked for', () => {
  const asked = [...Object.keys(BREAKAGES), 'timeout', 'gateway-failed', 'gateway-unavailable'];
  expect(answers.filter(({ name }) => !asked.includes(name ?? '')).map(({ key }) => key)).toEqual([]);
});

test('the examples are what was answered', async () => {
  const text = `${JSON.stringify(common, null, 2)}\n`;
  await expect(text).toMatchFileSnapshot('../../openapi/examples/common.json');
});

function named(name: string): DocumentedAnswer[] {
  return answers.filter((answer) => answer.name === name);
}

/** Each route that may answer so does. */
async function expectInTurn(name: string, send: Send): Promise<void> {
  for (const answer of named(name)) expectOne(await send(sampleOf(answer.operation)), answer);
}

/** The same for what takes seconds. */
async function expectAtOnce(name: string, send: Send): Promise<void> {
  const got = await Promise.all(named(name).map(({ operation }) => send(sampleOf(operation))));
  for (const [at, answer] of named(name).entries()) expectOne(got[at] as Answered, answer);
}

function expectOne(got: Answered, answer: DocumentedAnswer): void {
  expectAnswer(got, answer);
  const { status, name } = answer;
  if (!isGateways(name)) common[`${status} ${name}`] ??= normal(got.body);
}
