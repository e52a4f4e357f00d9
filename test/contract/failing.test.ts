import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import type pg from 'pg';
import { type LoopbackProxy, loopbackProxy } from '../functions/loopback-proxy.ts';
import { type DocumentedAnswer, documented } from '../openapi/documented.ts';
import { type Answered, expectAnswer, isGateways } from '../openapi/expect-answer.ts';
import { describe, expect, test as withDatabase } from '../support/fixtures.ts';
import { changedAssembly, type Ground, type Resource, type Send, startGround } from './ground.ts';
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
  // The same with functions that give up after 2 s in place of 19.
  .extend(
    'hasty',
    { scope: 'file' },
    async ({ fileDatabase, ailing }, { onCleanup }): Promise<Ground & { network: LoopbackProxy }> => {
      const network = await loopbackProxy(fileDatabase.url);
      const assembly = await changedAssembly(ailing.assembly, (resources) => {
        for (const { Properties } of ofType(resources, 'AWS::Lambda::Function')) Properties.Timeout = 3;
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

function breakFunctions(resources: Readonly<Record<string, Resource>>): void {
  for (const integration of ofType(resources, 'AWS::ApiGatewayV2::Integration')) {
    integration.Properties.TimeoutInMillis = 1000;
    const target = JSON.stringify(integration.Properties.IntegrationUri);
    for (const [id, { Metadata = {} }] of Object.entries(resources)) {
      if (target.includes(`"${id}"`)) Metadata['aws:asset:path'] = 'broken';
    }
  }
}

function ofType(resources: Readonly<Record<string, Resource>>, type: string): Resource[] {
  return Object.values(resources).filter(({ Type }) => Type === type);
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

test.beforeAll(({ ailing, hasty, broken }) => void [ailing, hasty, broken]);

const common: Record<string, unknown> = {};

describe('when the database fails', () => {
  test.for(Object.keys(BREAKAGES))('%s', async (name, { ailing }) => {
    const mend = await (BREAKAGES[name] as (ground: Ailing) => Promise<() => unknown>)(ailing);
    await expectOfAll(name, ailing.send).finally(mend);
  });

  test('timeout', async ({ hasty }) => {
    // The connections are there, and nothing comes over them any more.
    await Promise.all(named('timeout').map(({ operation }) => hasty.send(sampleOf(operation))));
    hasty.network.mode = 'hang';
    await expectOfAll('timeout', hasty.send);
  });
});

describe('when a function fails', () => {
  test.for([
    ['gateway-failed', 'ends'],
    ['gateway-unavailable', 'hangs'],
  ] as const)('%s', async ([name, how], { broken }) => {
    await expectOfAll(name, (request) => broken.send({ ...request, headers: { 'x-request-id': how } }));
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

/** All routes that have the answer are asked at once, and say the same. */
async function expectOfAll(name: string, send: Send): Promise<void> {
  const expected = named(name);
  const got = await Promise.all(expected.map(({ operation }) => send(sampleOf(operation))));
  for (const [at, answer] of expected.entries()) {
    const { operation, status } = answer;
    const one = got[at] as Answered;
    expectAnswer(one, answer);
    if (isGateways(name)) continue;
    const shown = normal(one.body);
    common[`${status} ${name}`] ??= shown;
    expect(shown, operation.route).toEqual(common[`${status} ${name}`]);
  }
}
