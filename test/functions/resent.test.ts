import { DatabaseError } from 'pg';
import { expect, test, vi } from 'vitest';
import { ConfigurationError } from '../../functions/lambda/configuration-error.ts';
import { DatabaseUnavailableError, resent } from '../../functions/lambda/database.ts';

const said = (code: string) =>
  Object.assign(new DatabaseError('said by the server', 18, 'error'), { code, severity: 'FATAL' });
const lost = new DatabaseUnavailableError('the database does not answer', { cause: new Error('ECONNRESET') });

test.each([
  ['a connection that broke', lost],
  ['a shutdown', said('57P01')],
  ['a server without a free connection', said('53300')],
  ['a server that turned read-only', said('25006')],
])('%s is not the end: the statements are sent once more, and not a third time', async (_, error) => {
  const once = vi.fn().mockRejectedValueOnce(error).mockResolvedValue('answer');
  expect(await resent(once)).toBe('answer');
  const always = vi.fn().mockRejectedValue(error);
  await expect(resent(always)).rejects.toBe(error);
  expect(always).toHaveBeenCalledTimes(2);
});

test.each([
  ['a bad value', said('22P02')],
  ['a lock that was not free in time: the caller is told, and the connection is good', said('55P03')],
  ['a refused login', said('28P01')],
  ['a wrong setting', new ConfigurationError('DATABASE_CA_FILE: ca.pem cannot be read')],
])('%s is not sent again', async (_, error) => {
  const statements = vi.fn().mockRejectedValue(error);
  await expect(resent(statements)).rejects.toBe(error);
  expect(statements).toHaveBeenCalledTimes(1);
});

test('a server that itself says no is left alone for 20 ms at least', async () => {
  const at: number[] = [];
  await expect(
    resent(async () => {
      at.push(performance.now());
      throw said('53300');
    }),
  ).rejects.toThrow();
  // A timer may come up to a millisecond early.
  expect(Number(at[1]) - Number(at[0])).toBeGreaterThanOrEqual(19);
});
