import { DatabaseError } from 'pg';
import { expect, test } from 'vitest';
import { ConfigurationError } from '../../functions/lambda/configuration-error.ts';
import { failureEvent, faultOf, sqlState } from '../../functions/queue/postgres-error.ts';

test.each([
  ['a NUL in a text', postgres('22021'), 'row'],
  ['a violated check', postgres('23514'), 'row'],
  ['JSON nested too deep', postgres('54001'), 'row'],
  ['a BigInt met JSON.stringify', new TypeError('Do not know how to serialize a BigInt'), 'row'],
  ['a string beyond what Node holds', new RangeError('Invalid string length'), 'row'],
  ['a deadlock', postgres('40P01'), 'repeat'],
  ['a lock not available', postgres('55P03'), 'repeat'],
  ['a statement timeout', postgres('57014'), 'repeat'],
  ['a shutdown', postgres('57P01'), 'lost'],
  ['starting up', postgres('57P03'), 'lost'],
  ['too many connections', postgres('53300'), 'lost'],
  ['read-only after a failover', postgres('25006'), 'lost'],
  ['idle in transaction for too long', postgres('25P03'), 'lost'],
  ['a connection exception', postgres('08006'), 'lost'],
  ['an internal error', postgres('XX000'), 'lost'],
  ['a proxy that does not know how it ended', postgres('40003'), 'lost'],
  ['a snapshot too old', postgres('72000'), 'repeat'],
  ['a pooler that waited in vain', pooler('query_wait_timeout'), 'lost'],
  ['a pooler whose server is gone', pooler('server conn crashed?'), 'lost'],
  ['a pooler that is full', pooler('no more connections allowed (max_client_conn)'), 'lost'],
  ['a server that a pooler finds full', pooler('sorry, too many clients already'), 'lost'],
  ['a pooler that refuses a password', pooler('SASL authentication failed'), 'fatal'],
  ['a server that refuses that of a pooler', pooler('password authentication failed for user "a"'), 'fatal'],
  ['a pooler that knows no such user', pooler('no such user'), 'fatal'],
  ['a pooler that knows no such database', pooler('no such database: a'), 'fatal'],
  ['a setting that is wrong', new ConfigurationError('DATABASE_CA_FILE: ca.pem cannot be read'), 'fatal'],
  ['a reset socket', node('ECONNRESET'), 'lost'],
  ['a broken pipe, whose code has five characters too', node('EPIPE'), 'lost'],
  ['a timeout of pg', new Error('Query read timeout'), 'lost'],
  ['nothing that is an error', undefined, 'lost'],
  ['a wrong password', postgres('28P01'), 'fatal'],
  ['a missing table', postgres('42P01'), 'fatal'],
  ['no permission', postgres('42501'), 'fatal'],
  ['a missing database', postgres('3D000'), 'fatal'],
  ['a statement in a failed transaction', postgres('25P02'), 'fatal'],
])('%s: %s', (_, error, fault) => {
  expect(faultOf(error)).toBe(fault);
});

test('events carry the code a person can look up', () => {
  expect(failureEvent('claim', postgres('53300'))).toMatchObject({ during: 'claim', code: '53300' });
  expect(failureEvent('claim', node('ECONNREFUSED'))).toMatchObject({ code: 'ECONNREFUSED' });
  expect(failureEvent('claim', new Error('Query read timeout'))).toMatchObject({ code: 'Error' });
  expect(failureEvent('claim', null)).toMatchObject({ code: 'unknown', reason: 'null' });
  expect(failureEvent('claim', pooler('SASL authentication failed'))).toMatchObject({ code: '08P01' });
  expect(sqlState(node('EPIPE'))).toBeUndefined();
});

function postgres(code: string): DatabaseError {
  return Object.assign(new DatabaseError('said by the server', 18, 'error'), { code, severity: 'ERROR' });
}

/** As a PgBouncer before 1.20 says everything. */
function pooler(message: string): DatabaseError {
  return Object.assign(new DatabaseError(message, 18, 'error'), { code: '08P01', severity: 'FATAL' });
}

function node(code: string): Error {
  return Object.assign(new Error(code), { code });
}
