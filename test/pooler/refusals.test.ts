import { databaseProblem } from '../../functions/lambda/database-problem.ts';
import { withSecret } from '../../functions/lambda/with-secret.ts';
import { runOn } from '../lifecycle/ground.ts';
import { said } from '../queue/said.ts';
import { inDatabase } from '../support/database.ts';
import { expect, inject, openClient } from '../support/fixtures.ts';
import { createLogin } from '../support/logins.ts';
import { startPgbouncer } from '../support/pgbouncer.ts';
import { contracts, databaseOf, kind, test } from './ground.ts';

test('a wrong password, a role and a database that are not there are told from an outage, though they have its code', async ({
  pooledUrl,
  pooler,
}) => {
  const as = (changed: Partial<Pick<URL, 'username' | 'password'>>) => Object.assign(new URL(pooledUrl), changed).href;
  expect(await said(openClient(as({ password: 'wrong' })))).toEqual(['28P01', 'fatal']);
  expect(await said(openClient(as({ username: 'nobody_here' })))).toEqual(['28P01', 'fatal']);
  expect(await said(openClient(inDatabase(pooler.url, 'nowhere')))).toEqual(['3D000', 'fatal']);
  // At once, not at the end of its minute.
  await expect(
    runOn(as({ password: 'wrong' }), { contracts, processors: { [kind]: () => 1 }, lingerSeconds: 60 }),
  ).rejects.toMatchObject({ code: 'run_failed', summary: { reason: 'failed' } });
});

test('a rotated password is read anew', async ({ own, pooledUrl }) => {
  const login = await createLogin(own);
  const { username } = new URL(login.url);
  const current = { host: '127.0.0.1', port: Number(new URL(pooledUrl).port), username, dbname: databaseOf(pooledUrl) };
  const passwords = [new URL(login.url).password, 'the-next-one', 'the-next-one'];
  const connect = withSecret(
    async (stage) => (stage === 'AWSCURRENT' ? { ...current, password: String(passwords.shift()) } : undefined),
    async ({ password }) => openClient(Object.assign(new URL(pooledUrl), { username, password }).href),
  );
  const before = await connect();
  await own.pool.query(`ALTER ROLE ${username} PASSWORD 'the-next-one'`);
  const after = await connect();
  expect((await after.query('SELECT current_user AS name')).rows).toEqual([{ name: username }]);
  expect(passwords).toHaveLength(1);
  await Promise.all([before.end(), after.end()]);
  await login.drop();
});

test('no connection left in the pooler, or no turn within its time, is a 503 as the same of the server is', async ({
  own,
}) => {
  const pooler = await startPgbouncer(inject('serverUrl'), {
    max_client_conn: '2',
    default_pool_size: '1',
    query_wait_timeout: '1',
  });
  const url = inDatabase(pooler.url, databaseOf(own.directUrl));
  const [holder, other] = [await openClient(url), await openClient(url)];
  const refused = await openClient(url).catch((error) => error);
  expect(await said(Promise.reject(refused))).toEqual(['53300', 'lost']);
  expect(databaseProblem(refused)?.message).toContain('no connection');
  await holder.query('BEGIN');
  const late = await other.query('SELECT 1').catch((error) => error);
  expect(await said(Promise.reject(late))).toEqual(['08P01', 'lost']);
  expect(databaseProblem(late)).toMatchObject({ code: 'database-unavailable' });
  await holder.end();
  await pooler.stop();
});
