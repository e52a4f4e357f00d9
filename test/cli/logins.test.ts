import { deadJob, pendingJob } from '../support/factories.ts';
import { type DatabaseRole, test } from '../support/logins.ts';
import { here } from './here.ts';
import { describe, expect } from './looking.ts';

describe('a login with a role of the database', () => {
  const may: [role: DatabaseRole, exits: Record<string, number>][] = [
    ['producer', { list: 0, counts: 0, show: 0, payload: 4, stats: 4, enqueue: 0, cancel: 4, redrive: 4 }],
    ['reader', { list: 0, counts: 0, show: 0, payload: 0, stats: 0, enqueue: 4, cancel: 4, redrive: 4 }],
    ['operator', { list: 0, counts: 0, show: 0, payload: 0, stats: 0, enqueue: 4, cancel: 0, redrive: 0 }],
  ];
  test.for(may)('%s', async ([role, exits], { loginAs, own }) => {
    const [{ id: dead }, { id: pending }] = [await deadJob(own.pool), await pendingJob(own.pool)];
    const { url } = await loginAs(role);
    const lines: Record<string, string[]> = {
      list: ['list', '--all'],
      counts: ['list', '--counts'],
      show: ['show', dead],
      payload: ['show', dead, '--payload'],
      stats: ['stats'],
      enqueue: ['enqueue', 'hello.greet'],
      cancel: ['cancel', pending],
      redrive: ['redrive', dead],
    };
    const found: Record<string, number> = {};
    for (const [what, line] of Object.entries(lines)) {
      const { code, stdout, stderr } = await here(...line, '--database-url', url);
      found[what] = code;
      if (code !== 0) {
        expect(stdout).toBe('');
        expect(stderr).toMatch(/this login may not .*: it takes millrace_\w+/);
      }
    }
    expect(found).toEqual(exits);
  });
});
