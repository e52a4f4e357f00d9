import { scramVerifier } from '../../functions/lambda/scram.ts';
import { setPassword } from '../../functions/lambda/set-password.ts';
import { openClient } from '../support/database.ts';
import { describe, expect, test } from '../support/fixtures.ts';

describe('a verifier', () => {
  test('is what Postgres itself makes of password and salt', async ({ db }) => {
    const role = `scram_${Math.random().toString(36).slice(2)}`;
    for (const password of ['x', 'a b', `~!"#$%&'()*+,-./:;<=>?@[\\]^_\`{|}`, 'y'.repeat(500)]) {
      const { rows: made } = await db.query(`SELECT format('CREATE ROLE %I PASSWORD %L', $1::text, $2::text) AS sql`, [
        role,
        password,
      ]);
      await db.query(made[0].sql);
      const { rows } = await db.query('SELECT rolpassword AS verifier FROM pg_authid WHERE rolname = $1', [role]);
      const salt = Buffer.from(rows[0].verifier.split(/[:$]/)[2], 'base64');
      expect(scramVerifier(password, salt)).toBe(rows[0].verifier);
      await db.query(`DROP ROLE ${role}`);
    }
  });

  test('is salted anew each time', () => {
    expect(scramVerifier('same')).not.toBe(scramVerifier('same'));
  });

  test.for(['', 'pässword', 'tab\t', '\u00a0'])('of %j would not be what the client computes: refused', (password) => {
    expect(() => scramVerifier(password)).toThrow('printable ASCII');
  });
});

test('a password that was set logs in, and no statement has shown it to the server', async ({ db, databaseUrl }) => {
  const role = `scram_${Math.random().toString(36).slice(2)}`;
  await db.query(`CREATE ROLE "${role}-'" LOGIN`);
  const password = `unsaid' "${role}" \\ %s`;
  const sent: unknown[] = [];
  const client = await openClient(databaseUrl);
  const query = client.query.bind(client) as (text: string, values?: unknown[]) => Promise<never>;
  await setPassword(
    {
      query: (text, values) => {
        sent.push(text, values);
        return query(text, values);
      },
    },
    `${role}-'`,
    password,
  );
  await client.end();
  expect(sent).toHaveLength(4);
  expect(JSON.stringify(sent)).not.toContain('unsaid');
  const url = new URL(databaseUrl);
  url.username = encodeURIComponent(`${role}-'`);
  url.password = encodeURIComponent(password);
  await (await openClient(url.href)).end();
  url.password = 'another';
  await expect(openClient(url.href)).rejects.toMatchObject({ code: '28P01' });
  await db.query(`DROP ROLE "${role}-'"`);
});
