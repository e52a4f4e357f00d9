import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { finishedJob, pendingJob } from '../support/factories.ts';
import { describe, expect } from '../support/fixtures.ts';
import { ROLES, test } from '../support/logins.ts';

const OURS = ROLES.map((role) => `millrace_${role}`);

describe('a role of the queue', () => {
  test('calls with their owner’s rights what puts jobs in, the upkeep, what recurs, and nothing else', async ({
    db,
  }) => {
    const { rows } = await db.query<{ role: string; functions: string[] }>(
      `SELECT r.role, array_agg(p.proname::text ORDER BY p.proname) AS functions
       FROM unnest($1::text[]) r(role)
       JOIN pg_proc p ON p.pronamespace = 'millrace'::regnamespace AND p.prosecdef AND has_function_privilege(r.role, p.oid, 'EXECUTE')
       GROUP BY r.role
       ORDER BY r.role`,
      [OURS],
    );
    expect(rows).toEqual([
      { role: 'millrace_operator', functions: ['fire_by_hand'] },
      { role: 'millrace_producer', functions: ['enqueue', 'enqueue_many'] },
      { role: 'millrace_reaper', functions: ['maintain_partitions', 'put_on_dead'] },
      {
        role: 'millrace_worker',
        functions: ['declare_schedules', 'enqueue', 'enqueue_many', 'fire_schedules', 'put_on_dead'],
      },
    ]);
  });

  test('is a member of none, owns nothing, makes nothing, and hands nothing on', async ({ db }) => {
    const { rows } = await db.query(
      `SELECT r.rolname
       FROM pg_roles r
       WHERE r.rolname = ANY ($1)
         AND (r.rolsuper OR r.rolcreaterole OR r.rolcreatedb OR r.rolreplication OR r.rolbypassrls OR r.rolcanlogin
              OR EXISTS (SELECT FROM pg_auth_members m WHERE m.member = r.oid)
              OR EXISTS (SELECT FROM pg_shdepend d WHERE d.refobjid = r.oid AND d.deptype = 'o')
              OR has_schema_privilege(r.oid, 'millrace', 'CREATE')
              OR EXISTS (SELECT FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a
                         WHERE a.grantee = r.oid AND (a.is_grantable OR a.privilege_type IN ('TRIGGER', 'REFERENCES', 'TRUNCATE')))
              OR EXISTS (SELECT FROM pg_proc p CROSS JOIN LATERAL aclexplode(p.proacl) a
                         WHERE a.grantee = r.oid AND a.is_grantable))`,
      [OURS],
    );
    expect(rows).toEqual([]);
  });

  test.for(
    ROLES.flatMap((role) =>
      [
        `SELECT millrace.run_on_role('postgres', 'SELECT 1')`,
        `SELECT millrace.set_timeouts('postgres')`,
        `SELECT millrace.role_statements()`,
        `CREATE TEMP TABLE mine () INHERITS (millrace.live_jobs)`,
        `CREATE TRIGGER mine BEFORE INSERT ON millrace.live_jobs EXECUTE FUNCTION suppress_redundant_updates_trigger()`,
        `CREATE OR REPLACE FUNCTION millrace.enqueue_many(jobs jsonb) RETURNS TABLE (index int, id uuid, outcome text, pruned boolean)
         LANGUAGE sql AS 'SELECT 1, NULL::uuid, NULL::text, false'`,
        `ALTER FUNCTION millrace.enqueue_many(jsonb) RESET ALL`,
        `SET LOCAL session_replication_role = replica`,
      ].map((statement) => [role, statement] as const),
    ),
  )('%s: not %s', async ([role, statement], { db }) => {
    const client = await db.connect();
    try {
      await client.query(`BEGIN; SET LOCAL SESSION AUTHORIZATION millrace_${role}`);
      await expect(client.query(statement)).rejects.toMatchObject({ code: '42501' });
    } finally {
      await client.query('ROLLBACK');
      client.release();
    }
  });
});

describe('a producer', () => {
  test('gets no payload or result out of the view, by whatever it asks', async ({ loginAs, own }) => {
    await finishedJob(own.pool, { payload: { secret: 1 }, result: 'secret' });
    const { pool } = await loginAs('producer');
    for (const statement of [
      'SELECT j FROM millrace.jobs j',
      'SELECT to_jsonb(j) FROM millrace.jobs j',
      `SELECT id FROM millrace.jobs WHERE payload ? 'secret'`,
      'SELECT id FROM millrace.jobs ORDER BY result',
      'SELECT count(j) FROM millrace.jobs j',
      'SELECT (j).payload FROM millrace.jobs j',
      'SELECT id FROM millrace.jobs FOR UPDATE',
      'SELECT id FROM millrace.live_jobs FOR KEY SHARE',
      'COPY (TABLE millrace.jobs) TO STDOUT',
      'SELECT payload FROM millrace.payloads_newest',
      'SELECT id FROM millrace.finished_jobs_oldest',
    ]) {
      await expect(pool.query(statement), statement).rejects.toMatchObject({ code: '42501' });
    }
    const { rows } = await pool.query(
      `SELECT FROM pg_stats WHERE schemaname = 'millrace' AND attname IN ('payload', 'result')`,
    );
    expect(rows).toEqual([]);
  });

  test('has no setting of its session by which a job goes in otherwise, or another is touched', async ({
    own,
    loginAs,
  }) => {
    const { pool } = await loginAs('producer');
    const { id: other } = await pendingJob(own.pool, { uniqueKey: 'other' });
    const { rows: settings } = await pool.query<{ name: string; value: string }>(
      `SELECT name, CASE setting WHEN 'on' THEN 'off' ELSE 'on' END AS value
       FROM pg_settings
       WHERE context = 'user' AND vartype = 'bool'
         AND name NOT IN ('default_transaction_read_only', 'transaction_read_only', 'transaction_deferrable')`,
    );
    expect(settings.length).toBeGreaterThan(30);
    const others = [
      { name: 'datestyle', value: 'SQL, DMY' },
      { name: 'intervalstyle', value: 'sql_standard' },
      { name: 'timezone', value: 'Asia/Kolkata' },
      { name: 'bytea_output', value: 'escape' },
      { name: 'xmlbinary', value: 'hex' },
      { name: 'extra_float_digits', value: '-15' },
      { name: 'plan_cache_mode', value: 'force_custom_plan' },
      { name: 'default_transaction_isolation', value: 'serializable' },
    ];
    const job = { kind: 'test.kind', payload: { a: [1.5, 'x'] }, subject: 's', run_at: '2030-01-31T08:00:00+01:00' };
    const failed: string[] = [];
    for (const { name, value } of [...settings, ...others]) {
      const client = await pool.connect();
      try {
        await client.query(`SELECT set_config($1, $2, false)`, [name, value]);
        await client.query(`SELECT * FROM millrace.enqueue_many($1::jsonb)`, [
          JSON.stringify([job, { ...job, idempotency_key: 'k' }]),
        ]);
      } catch (error) {
        failed.push(`${name}: ${(error as Error).message}`);
      } finally {
        client.release(true);
      }
    }
    // Escapes in our patterns are then no escapes: nothing passes that did not before.
    expect(failed).toEqual([expect.stringMatching(/^standard_conforming_strings: jobs\[0\]\.run_at must be a time/)]);
    const { rows } = await own.pool.query(
      `SELECT DISTINCT j.kind, j.payload, j.subject, j.run_at = '2030-01-31T07:00:00Z' AS on_time, l.payload_bytes, j.priority
       FROM millrace.jobs j JOIN millrace.live_jobs l USING (id) WHERE j.id <> $1`,
      [other],
    );
    expect(rows).toEqual([
      { kind: 'test.kind', payload: job.payload, subject: 's', on_time: true, payload_bytes: 17, priority: 0 },
    ]);
    expect((await own.pool.query(`SELECT count(*)::int AS n FROM millrace.idempotency_keys`)).rows).toEqual([{ n: 1 }]);
  });

  test('changes a pending job by replace alone, which takes its kind and unique key', async ({ own, loginAs }) => {
    const { pool } = await loginAs('producer');
    const { id } = await pendingJob(own.pool, { kind: 'a.kind', uniqueKey: 'other', payload: { n: 1 } });
    const enqueue = (id: string, more: string) =>
      pool.query(`SELECT millrace.enqueue('a.kind', '{"n": 2}', id => $1${more})`, [id]);
    await enqueue(id, '');
    await enqueue(id, `, unique_key => 'mine', replace => '{payload}'`);
    const payload = async () =>
      (await own.pool.query('SELECT payload FROM millrace.payloads WHERE id = $1', [id])).rows[0];
    expect(await payload()).toEqual({ payload: { n: 1 } });
    await enqueue(randomUUID(), `, unique_key => 'other', replace => '{payload}'`);
    expect(await payload()).toEqual({ payload: { n: 2 } });
  });

  test('learns of a payload by its idempotency key whether a guess is right, and leaves nothing by one that is wrong', async ({
    own,
    loginAs,
  }) => {
    const enqueue = (db: pg.Pool, n: number) =>
      db.query(`SELECT millrace.enqueue('a.kind', jsonb_build_object('n', $1::int), idempotency_key => 'k') AS id`, [
        n,
      ]);
    const { rows } = await enqueue(own.pool, 1);
    const { pool } = await loginAs('producer');
    await expect(enqueue(pool, 2)).rejects.toMatchObject({ code: 'MR001', detail: 'index=0' });
    expect((await enqueue(pool, 1)).rows).toEqual(rows);
    expect((await own.pool.query('SELECT payload FROM millrace.payloads')).rows).toEqual([{ payload: { n: 1 } }]);
  });

  test('hides no type of ours behind one of its own', async ({ own, loginAs }) => {
    const { pool } = await loginAs('producer');
    const client = await pool.connect();
    try {
      for (const type of [
        'text',
        'jsonb',
        'uuid',
        'timestamptz',
        'int4',
        'float8',
        'numeric',
        'bool',
        'new_job',
        'record',
      ]) {
        const base = ['record', 'new_job'].includes(type) ? 'text' : type;
        await client.query(`CREATE DOMAIN pg_temp.${type} AS pg_catalog.${base} CHECK (VALUE IS NULL)`);
      }
      await client.query(`
        CREATE TEMP VIEW given AS SELECT 1 AS id;
        CREATE TEMP TABLE payloads (id pg_catalog.uuid, payload pg_catalog.jsonb);
        CREATE TEMP TABLE idempotency_keys (kind pg_catalog.text);
        SET search_path = pg_temp, pg_catalog`);
      await client.query(
        `SELECT * FROM millrace.enqueue_many('[{"kind": "a.kind", "id": "01a2274d-2495-7000-8000-000000000001", "idempotency_key": "k", "delay_seconds": 2}]')`,
      );
      await client.query(`SELECT millrace.enqueue('a.kind', '{"n": 1}', unique_key => 'u', replace => '{payload}')`);
    } finally {
      client.release(true);
    }
    expect((await own.pool.query('SELECT count(*)::pg_catalog.int4 AS n FROM millrace.jobs')).rows).toEqual([{ n: 2 }]);
  });
});
