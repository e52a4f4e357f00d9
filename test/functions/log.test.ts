import { onTestFinished } from 'vitest';
import { createLog } from '../../functions/lambda/log.ts';
import { loggedEvents } from '../../functions/lambda/telemetry.ts';
import { failureEvent } from '../../functions/queue/postgres-error.ts';
import { describe, expect, test, vi } from '../support/fixtures.ts';

describe('the log', () => {
  test('says why the database failed', () => {
    const lines = capture();
    loggedEvents(createLog({ function: 'work' }))(failureEvent('claim', new Error('connection reset')));
    expect(lines()).toEqual([
      expect.objectContaining({
        level: 'warn',
        message: 'database.failed',
        function: 'work',
        during: 'claim',
        reason: 'connection reset',
      }),
    ]);
  });

  test('a field cannot take the place of the level or the message', () => {
    const lines = capture();
    createLog({}).info('as it is', { level: 'fatal', message: 'forged', timestamp: 0 });
    expect(lines()).toEqual([{ timestamp: expect.any(String), level: 'info', message: 'as it is' }]);
  });

  test('of an error it shows neither rows nor values that Postgres names', () => {
    const lines = capture();
    const cause = Object.assign(new Error('duplicate key'), { code: '23505', detail: 'Key (ssn)=(078-05-1120)' });
    createLog({}).error('failed', { error: new Error('outer', { cause }) });
    expect(JSON.stringify(lines())).not.toContain('078-05-1120');
    expect(lines()[0]).toMatchObject({
      error: { message: 'outer', cause: { message: 'duplicate key', code: '23505' } },
    });
  });
});

function capture(): () => Record<string, unknown>[] {
  const write = vi.spyOn(process.stdout, 'write').mockImplementation(() => true);
  onTestFinished(() => write.mockRestore());
  return () => write.mock.calls.map(([line]) => JSON.parse(String(line)));
}
