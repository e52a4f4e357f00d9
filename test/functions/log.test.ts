import { onTestFinished } from 'vitest';
import { createLog } from '../../functions/lambda/log.ts';
import { loggedEvents } from '../../functions/lambda/telemetry.ts';
import { failureEvent } from '../../functions/queue/postgres-error.ts';
import { describe, expect, test, vi } from '../support/fixtures.ts';

describe('the log', () => {
  test('of an event names its job, the request that put it in and the trace, as ctx.log does', () => {
    const lines = capture();
    const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
    const reaped = { name: 'job.reaped', id: 'a', kind: 'k', attempt: 1, status: 'dead' } as const;
    const emit = loggedEvents(createLog({ function: 'reap', aws_request_id: 'i' }));
    emit({ ...reaped, requestId: 'request-7', traceparent: `00-${trace}-00f067aa0ba902b7-01` });
    emit({ ...reaped, requestId: null, traceparent: 'no such trace' });
    const line = { level: 'warn', message: 'job.reaped', function: 'reap', aws_request_id: 'i', status: 'dead' };
    const common = { timestamp: expect.any(String), ...line, job_id: 'a', kind: 'k', attempt: 1 };
    expect(lines()).toEqual([{ ...common, request_id: 'request-7', trace_id: trace }, common]);
  });

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
