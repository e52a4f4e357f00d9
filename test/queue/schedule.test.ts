import { expect, expectTypeOf, test } from 'vitest';
import * as z from 'zod';
import { checkSchedules } from '../../functions/queue/check-schedules.ts';
import { defineJob } from '../../functions/queue/contract.ts';
import { type Schedules, schedule } from '../../functions/queue/schedule.ts';
import { scheduleOf } from '../../functions/queue/schedule-of.ts';

const contracts = {
  'report.send': defineJob({
    payload: z.object({ team: z.string(), mode: z.enum(['full', 'short']).default('full') }),
  }),
  'cache.warm': defineJob({ payload: z.object({ urls: z.array(z.url()) }) }),
  'mail.late': defineJob({ payload: z.object({ to: z.string() }).refine(async () => true), aliases: ['mail.old'] }),
};

const nightly = schedule({ name: 'nightly', cron: '30 2 * * *', kind: 'report.send', payload: { team: 'a' } });

test('a schedule has the defaults of its documentation', () => {
  expect(nightly).toMatchObject({ zone: 'UTC', every: undefined, catchUp: 'latest', overlap: 'skip' });
  expect(schedule({ name: 'n', every: '90s', kind: 'k', payload: 1 })).toMatchObject({ every: '90s', zone: undefined });
});

test('a kind that is none, or a payload that its contract does not take, does not compile', () => {
  const good: Schedules<typeof contracts> = [
    nightly,
    schedule({ name: 'b', every: '5m', kind: 'report.send', payload: { team: 'a', mode: 'short' }, overlap: 'allow' }),
    schedule({ name: 'c', every: '5m', kind: 'cache.warm', payload: { urls: ['https://example.com'] } }),
  ];
  checkSchedules(contracts, good);
  const bad: Schedules<typeof contracts> = [
    // @ts-expect-error no such kind
    schedule({ name: 'a', every: '5m', kind: 'report.sent', payload: { team: 'a' } }),
    // @ts-expect-error not its payload
    schedule({ name: 'b', every: '5m', kind: 'report.send', payload: { team: 7 } }),
    // @ts-expect-error that of another kind
    schedule({ name: 'c', every: '5m', kind: 'report.send', payload: { urls: [] } }),
  ];
  expect(() => checkSchedules(contracts, bad)).toThrow('kind "report.sent" has no contract; known kinds: cache.warm');
  // @ts-expect-error both
  schedule({ name: 'd', every: '5m', cron: '* * * * *', kind: 'k', payload: 1 });
  // @ts-expect-error a zone without a cron
  schedule({ name: 'e', every: '5m', zone: 'UTC', kind: 'k', payload: 1 });
  expectTypeOf(nightly.kind).toEqualTypeOf<'report.send'>();
});

test('what is no JSON is refused like anything else', () => {
  const wrong = { ...nightly, zone: 1n } as unknown;
  expect(() => checkSchedules(contracts, [wrong])).toThrow(
    'schedule "nightly": zone must be an IANA time zone such as',
  );
});

test.each([
  [{ name: 'a b' }, 'schedules[0].name must match ^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$, not "a b"'],
  [{ cron: undefined }, 'schedule "nightly": give it cron or every, not neither'],
  [{ every: '5m' }, 'schedule "nightly": give it cron or every, not both'],
  [{ cron: undefined, every: '5m' }, 'schedule "nightly": zone goes with cron; every counts real time'],
  [{ cron: undefined, zone: undefined, every: '0s' }, 'every must be a whole number with its unit, from 1s to 366d'],
  [{ cron: undefined, zone: undefined, every: '1.5h' }, '"90s", "5m", "2h", "1d", not "1.5h"'],
  [{ cron: undefined, zone: undefined, every: '367d' }, 'from 1s to 366d'],
  [{ cron: '61 * * * *' }, 'not "61 * * * *": CronPattern: Invalid value for minute: 61'],
  [{ cron: '* * * * * *' }, 'cron must be five fields, minute hour day month weekday, not "* * * * * *"'],
  [{ cron: '0 0 31 2 *' }, 'not "0 0 31 2 *": it never fires'],
  [{ cron: 7 }, 'cron must be text, not 7'],
  [{ cron: '2027-01-01T00:00:00' }, 'cron must be five fields, minute hour day month weekday'],
  [{ cron: undefined, zone: undefined, every: ['5m'] }, 'every must be text, not ["5m"]'],
  [{ name: ['n'] }, 'schedules[0].name must match'],
  [{ name: undefined }, 'schedules[0].name must match'],
  [{ kind: ['report.send'] }, 'kind ["report.send"] has no contract'],
  [{ zone: 'Mars/Olympus' }, 'zone must be an IANA time zone such as "Europe/Berlin", not "Mars/Olympus"'],
  [{ zone: '+02:00' }, 'zone must be an IANA time zone such as "Europe/Berlin", not "+02:00"'],
  [{ catchUp: 'some' }, `catchUp must be 'latest', 'all' or 'none', not "some"`],
  [{ overlap: true }, `overlap must be 'skip' or 'allow', not true`],
  [
    { catchUp: 'all' },
    `catchUp 'all' needs overlap: 'allow', for all but the first that is made up for would be skipped`,
  ],
  [{ kind: 'toString' }, 'kind "toString" has no contract'],
  [{ kind: 'mail.old', payload: { to: 'a' } }, 'kind "mail.old" has no contract; known kinds: cache.warm, mail.late'],
  [{ payload: { team: 7 } }, 'schedule "nightly": payload: the payload does not fit its contract: /team: '],
  [{ payload: { team: 'a\0' } }, 'schedule "nightly": payload: /team '],
])('%j is refused, by name and field', (over, message) => {
  expect(() => checkSchedules(contracts, [{ ...nightly, ...over }])).toThrow(message);
});

test('what is no list of schedules is refused, and a name that is there twice', () => {
  expect(() => checkSchedules(contracts, { nightly })).toThrow(
    'schedules must be an array of schedule({ … }), not {"nightly"',
  );
  expect(() => checkSchedules(contracts, [null])).toThrow('schedules[0].name must match');
  expect(() => checkSchedules(contracts, [nightly, nightly])).toThrow(
    'schedule "nightly" is there twice: give each a name of its own',
  );
  expect(() => checkSchedules(contracts, Array(1001).fill(nightly))).toThrow('schedules may be up to 1000, not 1001');
});

test('a payload whose contract has asynchronous parts is read when its job runs', () => {
  const late = schedule({ name: 'late', every: '1d', kind: 'mail.late', payload: { to: 'a' } });
  expect(() => checkSchedules(contracts, [late])).not.toThrow();
});

test('a leap day and the fifth Friday are patterns that fire', () => {
  const on = (cron: string) => checkSchedules(contracts, [{ ...nightly, cron }]);
  for (const cron of ['0 0 29 2 *', '0 9 * * FRI#5', '0 0 L * *', '@daily', '0 12 * * MON-FRI'])
    expect(() => on(cron)).not.toThrow();
});

test('a job is of a schedule by what stands in the place of a request, and by nothing like it', () => {
  const of = (requestId: string | null) => scheduleOf({ requestId });
  const fireAt = '2026-03-29T01:00:00.000Z';
  expect(of(`schedule/nightly/${fireAt}`)).toEqual({ name: 'nightly', fireAt });
  for (const other of [null, 'r1', 'schedule/nightly', 'schedule/nightly/soon', `schedule//${fireAt}`])
    expect(of(other)).toBeNull();
});
