import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '../../support/fixtures.ts';
import { typeErrors } from '../../support/typescript.ts';
import { rowsOutside } from '../../testing/ground.ts';
import { env, installed } from './install.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../../', import.meta.url));
let folder: string;

/** The examples as they are, inside the project so that `millrace/queue` is found, with node_modules of their own. */
beforeAll(async () => {
  const modules = await installed();
  await mkdir(join(root, 'dist'), { recursive: true });
  folder = await mkdtemp(join(root, 'dist', 'orms-'));
  await cp(join(root, 'examples', 'typescript'), folder, { recursive: true });
  await symlink(modules, join(folder, 'node_modules'));
  // Prisma asks for an engine that generating does not use; /bin/true keeps it from downloading one.
  await run(process.execPath, [join(modules, 'prisma/build/index.js'), 'generate', '--schema', 'schema.prisma'], {
    cwd: folder,
    env: { ...env, PRISMA_SCHEMA_ENGINE_BINARY: '/bin/true', CHECKPOINT_DISABLE: '1' },
  });
}, 300_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

test('the examples compile, typed by the contracts', { timeout: 90_000 }, async () => {
  await writeFile(
    join(folder, 'typed.ts'),
    `import { type Db, enqueue } from 'millrace/queue';
     import { contracts } from './contracts.ts';
     declare const db: Db;
     // @ts-expect-error: there is no such kind
     void enqueue(db, contracts, { kind: 'hello.great', payload: { name: 'Ada' } });
     // @ts-expect-error: the payload has no name
     void enqueue(db, contracts, { kind: 'hello.greet', payload: {} });`,
  );
  expect(await typeErrors(folder)).toEqual([]);
});

test.for(['pg', 'kysely', 'drizzle', 'prisma', 'postgres'])(
  '%s: the jobs are there with the commit, and never without',
  { timeout: 90_000 },
  async (example, { own }) => {
    // Checked at the commit only, behind the enqueue: the second run gets that far and is rolled back.
    await own.pool.query('CREATE TABLE customers (name text PRIMARY KEY DEFERRABLE INITIALLY DEFERRED)');
    const ran = () =>
      run(process.execPath, [join(folder, `${example}.ts`)], { cwd: folder, env: { ...env, DATABASE_URL: own.url } });

    const [, id] = /^job ([0-9a-f-]{36})$/m.exec((await ran()).stdout) ?? [];
    const jobs = `SELECT id, kind, payload, status FROM millrace.jobs ORDER BY id = $1`;
    const greeting = { kind: 'hello.greet', payload: { name: 'Ada' }, status: 'pending' };
    const two = [
      { ...greeting, id: expect.any(String) },
      { ...greeting, id },
    ];
    expect((await own.pool.query(jobs, [id])).rows).toEqual(two);

    await expect(ran()).rejects.toMatchObject({ stderr: expect.stringContaining('customers_pkey') });
    expect((await own.pool.query(jobs, [id])).rows).toEqual(two);
  },
);

test.for(['kysely', 'drizzle', 'prisma', 'postgres'])(
  '%s: its transaction serves the tests of an application, too',
  { timeout: 90_000 },
  async (example, { own }) => {
    await own.pool.query('CREATE TABLE customers (name text PRIMARY KEY)');
    const source = await readFile(join(folder, `${example}.ts`), 'utf8');
    const [enqueues = '', tx = ''] = /return (enqueue\(dbOf\((\w+)\), .*\);)/.exec(source)?.slice(1) ?? [];
    const drains = source.replace(
      `return ${enqueues}`,
      `await ${enqueues}
       const processors = {
         'hello.greet': (payload: { name: string }, ctx: Context) => {
           if (ctx.job.attempt === 1) throw new Error('boom');
           return { hello: payload.name };
         },
       };
       const { attempts } = await drain(dbOf(${tx}), { contracts, processors, retries: true });
       const { status } = await assertEnqueued(dbOf(${tx}), contracts, { kind: 'hello.greet', payload: { name: 'Ada' } });
       const { rows } = await dbOf(${tx}).query('SELECT errors FROM millrace.jobs');
       console.log(JSON.stringify({ status, attempts, rows }));
       throw new Error('rolled back');`,
    );
    const file = join(folder, `${example}-drains.ts`);
    await writeFile(
      file,
      `import type { Context } from 'millrace/queue';\nimport { assertEnqueued, drain } from 'millrace/testing';\n${drains}`,
    );
    const { stdout, stderr } = await run(process.execPath, [file], {
      cwd: folder,
      env: { ...env, DATABASE_URL: own.url },
    }).catch((error) => error);
    expect(stderr).toContain('Error: rolled back');
    const { status, attempts, rows } = JSON.parse(stdout);
    expect(status).toBe('completed');
    const retried = { verdict: 'retried', error: { message: 'boom' } };
    const completed = { verdict: 'completed', result: { hello: 'Ada' } };
    expect(attempts).toMatchObject([retried, retried, completed, completed]);
    expect(rows).toMatchObject(Array(2).fill({ errors: [{ attempt: 1, message: 'boom' }] }));
    expect(await rowsOutside(own.pool)).toBe(0);
  },
);
