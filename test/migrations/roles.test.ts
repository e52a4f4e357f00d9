import { get } from '../../functions/queue/get.ts';
import { finishedJob, pendingJob, processingJob } from '../support/factories.ts';
import { describe, expect } from '../support/fixtures.ts';
import { type DatabaseRole, ROLES, test } from '../support/logins.ts';

const EVERYBODY: readonly string[] = [
  'CREATE TABLE millrace.mine (n int)',
  'DROP TABLE millrace.live_jobs',
  'TRUNCATE millrace.finished_jobs',
  'INSERT INTO millrace.migrations (version, file, checksum) VALUES (99, $$a$$, $$b$$)',
  'UPDATE millrace.payloads SET payload = $$1$$',
  'UPDATE millrace.finished_jobs SET result = $$1$$',
  'UPDATE millrace.operator_log SET actor = $$nobody$$',
  'SELECT fingerprint FROM millrace.idempotency_keys',
  'SELECT millrace.put_jobs($${}$$)',
  'SELECT millrace.insert_on_dead($${}$$)',
  'SELECT millrace.create_partition($$payloads$$, $$x$$, NULL, NULL)',
  'SELECT millrace.grant_roles()',
  'ALTER ROLE millrace_producer LOGIN',
  'SELECT payload FROM millrace.schedules',
  'UPDATE millrace.schedules SET fired_until = now()',
  'SELECT millrace.put_scheduled(NULL, now())',
];

const ENQUEUE = 'SELECT millrace.enqueue($$k$$, $$1$$)';
const CANCEL = 'SELECT millrace.cancel(gen_random_uuid())';
const ON_DEAD = 'SELECT millrace.put_on_dead($${}$$)';
const FIRE = 'SELECT millrace.fire_schedules($$[]$$)';
const FIRE_BY_HAND = 'SELECT millrace.fire_by_hand($$x$$)';
const LIST_SCHEDULES = 'SELECT name FROM millrace.schedules';
const ERASE = 'SELECT millrace.erase(gen_random_uuid())';
const CLAIM =
  'SELECT millrace.claim(gen_random_uuid(), $$default$$, $${}$$, $${}$$, 1, 0, 1, $${}$$, now(), now(), 1, 1)';
const MAINTAIN = `SELECT millrace.maintain_partitions(interval '7 days', interval '3 days')`;
const PAUSE = 'INSERT INTO millrace.pauses (scope, name) VALUES ($$queue$$, $$q$$)';
const LOG = `INSERT INTO millrace.operator_log (action, target, count) VALUES ('pause', '{}', 1)`;
const FORGET = 'DELETE FROM millrace.operator_log';
const READ_LOG = 'SELECT actor FROM millrace.operator_log';
const READ_PAYLOADS = 'SELECT payload FROM millrace.payloads';
const READ_DEAD_PAYLOADS = 'SELECT payload FROM millrace.dead_jobs';
const READ_RESULTS = 'SELECT result FROM millrace.finished_jobs';
const DELETE_JOBS = 'DELETE FROM millrace.live_jobs';
const CHANGE_JOBS = 'UPDATE millrace.live_jobs SET priority = 5';
const INSERT_JOBS = 'INSERT INTO millrace.live_jobs (id, kind) VALUES (gen_random_uuid(), $$k$$)';

const FORBIDDEN: Readonly<Record<DatabaseRole, readonly string[]>> = {
  producer: [
    FIRE,
    FIRE_BY_HAND,
    LIST_SCHEDULES,
    'SELECT payload FROM millrace.jobs',
    'SELECT result FROM millrace.jobs',
    'SELECT * FROM millrace.jobs',
    'SELECT millrace.jobs_of($${}$$)',
    'SELECT locked_by FROM millrace.live_jobs',
    READ_PAYLOADS,
    READ_DEAD_PAYLOADS,
    READ_RESULTS,
    READ_LOG,
    DELETE_JOBS,
    CHANGE_JOBS,
    INSERT_JOBS,
    'DELETE FROM millrace.payloads',
    CLAIM,
    CANCEL,
    ERASE,
    PAUSE,
    LOG,
    MAINTAIN,
    ON_DEAD,
    'SELECT millrace.xmin_age()',
  ],
  reader: [
    FIRE,
    FIRE_BY_HAND,
    READ_LOG,
    ON_DEAD,
    ENQUEUE,
    DELETE_JOBS,
    CHANGE_JOBS,
    INSERT_JOBS,
    CLAIM,
    CANCEL,
    ERASE,
    PAUSE,
    LOG,
    FORGET,
    MAINTAIN,
  ],
  worker: [
    FIRE_BY_HAND,
    LIST_SCHEDULES,
    'SELECT payload FROM millrace.jobs',
    READ_DEAD_PAYLOADS,
    READ_RESULTS,
    READ_LOG,
    INSERT_JOBS,
    'DELETE FROM millrace.payloads',
    'DELETE FROM millrace.finished_jobs',
    'DELETE FROM millrace.dead_jobs',
    CANCEL,
    ERASE,
    PAUSE,
    LOG,
    FORGET,
    MAINTAIN,
  ],
  reaper: [
    FIRE,
    FIRE_BY_HAND,
    'SELECT status FROM millrace.jobs',
    READ_DEAD_PAYLOADS,
    READ_RESULTS,
    READ_LOG,
    ENQUEUE,
    INSERT_JOBS,
    CLAIM,
    CANCEL,
    ERASE,
    PAUSE,
    LOG,
  ],
  operator: [
    FIRE,
    'SELECT millrace.declare_schedules($$[]$$)',
    ON_DEAD,
    ENQUEUE,
    CLAIM,
    MAINTAIN,
    FORGET,
    'SELECT key FROM millrace.idempotency_keys',
    'DELETE FROM millrace.pauses',
  ],
};

describe('a role of the queue may not', () => {
  test.for(ROLES.flatMap((role) => [...EVERYBODY, ...FORBIDDEN[role]].map((statement) => [role, statement] as const)))(
    '%s: %s',
    async ([role, statement], { db }) => {
      const client = await db.connect();
      try {
        await client.query(`BEGIN; SET LOCAL ROLE millrace_${role}`);
        await expect(client.query(statement)).rejects.toMatchObject({ code: '42501' });
      } finally {
        await client.query('ROLLBACK');
        client.release();
      }
    },
  );

  test('a producer see the payload of a job that it has put in, also not by get', async ({ loginAs }) => {
    const { pool } = await loginAs('producer');
    const { rows } = await pool.query<{ id: string }>(`SELECT millrace.enqueue('test.kind', '{"secret": 1}') AS id`);
    const id = rows[0]?.id as string;
    expect(await get(pool, id)).toMatchObject({ id, status: 'pending' });
    await expect(get(pool, id, { payload: true, result: false })).rejects.toMatchObject({ code: '42501' });
  });
});

test('a role that is a member of none gets nowhere', async ({ loginAs }) => {
  const { pool } = await loginAs();
  await expect(pool.query(ENQUEUE)).rejects.toMatchObject({ code: '42501' });
  await expect(pool.query('SELECT * FROM millrace.jobs')).rejects.toMatchObject({ code: '42501' });
});

test('PUBLIC may call what has nothing of the queue in it, and nothing else', async ({ db }) => {
  const { rows } = await db.query<{ name: string }>(
    `SELECT DISTINCT p.proname AS name
     FROM pg_proc p
     CROSS JOIN LATERAL aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
     WHERE p.pronamespace = 'millrace'::regnamespace AND a.grantee = 0
     ORDER BY 1`,
  );
  expect(rows.map(({ name }) => name)).toEqual(['uuidv7', 'uuidv7_floor', 'uuidv7_time']);
  const { rows: tables } = await db.query(
    `SELECT c.relname
     FROM pg_class c
     CROSS JOIN LATERAL aclexplode(c.relacl) a
     WHERE c.relnamespace = 'millrace'::regnamespace AND a.grantee = 0`,
  );
  expect(tables).toEqual([]);
});

test('what runs with its owner’s rights says itself where names are looked up', async ({ db }) => {
  const { rows } = await db.query<{ name: string; path: string | null }>(
    `SELECT p.proname AS name, (SELECT c FROM unnest(p.proconfig) c WHERE c LIKE 'search_path=%') AS path
     FROM pg_proc p
     WHERE p.pronamespace = 'millrace'::regnamespace AND p.prosecdef
     ORDER BY 1`,
  );
  const path = 'search_path=pg_catalog, pg_temp';
  const theirs = [
    'declare_schedules',
    'enqueue',
    'enqueue_many',
    'fire_by_hand',
    'fire_schedules',
    'maintain_partitions',
    'put_on_dead',
  ];
  expect(rows).toEqual(theirs.map((name) => ({ name, path })));
});

test('a producer’s own search_path and temporary objects do not change what an enqueue does', async ({
  own,
  loginAs,
}) => {
  const { pool } = await loginAs('producer');
  const client = await pool.connect();
  try {
    await client.query(`
      CREATE TEMP TABLE live_jobs (id uuid);
      CREATE FUNCTION pg_temp.octet_length(text) RETURNS int LANGUAGE sql AS 'SELECT 7';
      CREATE FUNCTION pg_temp.uuidv7() RETURNS uuid LANGUAGE sql AS 'SELECT NULL::uuid';
      SET search_path = pg_temp, pg_catalog`);
    await client.query(`SELECT millrace.enqueue('test.kind', '{"a": 1}')`);
  } finally {
    client.release(true);
  }
  expect((await own.pool.query('SELECT payload_bytes FROM millrace.live_jobs')).rows).toEqual([{ payload_bytes: 8 }]);
});

test('granting once more changes nothing', async ({ own }) => {
  const grants = async () =>
    (
      await own.pool.query(
        `SELECT c.relname AS name, c.relacl::text AS acl FROM pg_class c WHERE c.relnamespace = 'millrace'::regnamespace
         UNION ALL
         SELECT a.attrelid::regclass || '.' || a.attname, a.attacl::text
         FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid WHERE c.relnamespace = 'millrace'::regnamespace
         UNION ALL
         SELECT p.oid::regprocedure::text, p.proacl::text FROM pg_proc p WHERE p.pronamespace = 'millrace'::regnamespace
         ORDER BY 1`,
      )
    ).rows;
  const before = await grants();
  await own.pool.query('SELECT millrace.grant_roles()');
  expect(await grants()).toEqual(before);
});

test('one login that is a member of all may do all of it', async ({ own, loginAs }) => {
  const { pool } = await loginAs(...ROLES);
  await processingJob(own.pool);
  const { id } = await finishedJob(own.pool, { payload: { n: 1 }, result: 2 });
  expect(await get(pool, id, { payload: true, result: true })).toMatchObject({ payload: '{"n": 1}', result: '2' });
  const { id: pending } = await pendingJob(own.pool);
  expect((await pool.query('SELECT millrace.cancel($1) AS answer', [pending])).rows).toEqual([{ answer: 'cancelled' }]);
  await pool.query(ENQUEUE);
  await pool.query(MAINTAIN);
  await expect(pool.query(FORGET)).resolves.toBeDefined();
  await expect(pool.query('DROP TABLE millrace.live_jobs')).rejects.toMatchObject({ code: '42501' });
});
