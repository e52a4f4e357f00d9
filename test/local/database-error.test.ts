import { expect, test } from 'vitest';
import { databaseError, embeddedError } from '../../local/database-error.ts';
import { StartError } from '../../local/start-error.ts';

const LOCAL = 'postgres://ada:hush@127.0.0.1:5599/shop';
const REMOTE = 'postgres://ada:hush@db.example:5432/shop';

test.each([
  [LOCAL, 'SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string', '', 'wants a password of "ada"'],
  [LOCAL, 'The server does not support SSL connections', '', 'take sslmode out of DATABASE_URL'],
  [REMOTE, 'The server does not support SSL connections', '', 'only a server on this machine is used without'],
  [REMOTE, 'There was an error establishing an SSL connection', '', 'may be no Postgres'],
  [LOCAL, 'Connection terminated unexpectedly', '', 'may be no Postgres'],
  [LOCAL, 'read ECONNRESET', 'ECONNRESET', 'may be no Postgres'],
  [LOCAL, 'timeout expired', '', 'does not answer within 5 s'],
  [LOCAL, 'something new', 'XX000', 'cannot be used (something new): correct DATABASE_URL, or unset it'],
  [LOCAL, '', 'EHOSTDOWN', 'cannot be used (EHOSTDOWN): correct DATABASE_URL'],
])('of %s, "%s" becomes a sentence that says what to do', (url, message, code, sentence) => {
  const error = databaseError(Object.assign(new Error(message), { code }), url);
  expect(error).toMatchObject({ code: 'database_unusable', message: expect.stringContaining(sentence) });
  expect(error.message).not.toContain('hush');
  expect(error.message).not.toContain('\n');
});

test('of the embedded server nobody is sent to DATABASE_URL: the fault lies in its folder', () => {
  const cause = Object.assign(new Error('database "postgres" does not exist'), { code: '3D000' });
  expect(embeddedError(cause, '/srv/.millrace/postgres').message).toBe(
    'The embedded Postgres in /srv/.millrace/postgres cannot be used (database "postgres" does not exist): ' +
      'restore that folder, or move it away to begin with an empty one.',
  );
  const known = new StartError('stopped', 'Stopped before it was up.');
  expect(embeddedError(known, '/srv')).toBe(known);
});
