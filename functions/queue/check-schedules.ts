import { CANARY } from './canary.ts';
import { type Contracts, NAME } from './contract.ts';
import { fireTimes, periodMs } from './fire-times.ts';
import { contractOf, knownKinds } from './kinds.ts';
import { readPlain } from './payload.ts';
import type { Schedule } from './schedule.ts';
import { holdsSealed } from './sealed-parts.ts';
import { assertStorable } from './storable.ts';
import { isThenable } from './thenable.ts';

/** Schedules that a deployment has at most: a run declares them in one statement. */
const MAX_SCHEDULES = 1_000;

/**
 * What schedules must be beyond their types: at synth, and where a run takes them.
 * @throws RangeError naming the schedule and the field: what was expected, and what came
 */
export function checkSchedules(contracts: Contracts, schedules: unknown): asserts schedules is readonly Schedule[] {
  if (!Array.isArray(schedules))
    throw new RangeError(`schedules must be an array of schedule({ … }), not ${shown(schedules)}`);
  if (schedules.length > MAX_SCHEDULES) {
    throw new RangeError(`schedules may be up to ${MAX_SCHEDULES}, not ${schedules.length}`);
  }
  const names = new Set<string>();
  for (const [index, schedule] of schedules.entries()) {
    if (typeof schedule !== 'object' || schedule === null || !isName(schedule.name)) {
      throw new RangeError(`schedules[${index}].name must match ${NAME.source}, not ${shown(schedule?.name)}`);
    }
    const { name } = schedule as Schedule;
    if (names.has(name)) throw new RangeError(`schedule "${name}" is there twice: give each a name of its own`);
    names.add(name);
    const flaw = flawOf(schedule, contracts);
    if (flaw !== undefined) throw new RangeError(`schedule "${name}": ${flaw}`);
  }
}

function isName(name: unknown): name is string {
  return typeof name === 'string' && NAME.test(name);
}

function flawOf(schedule: Schedule, contracts: Contracts): string | undefined {
  return timingFlaw(schedule) ?? choiceFlaw(schedule) ?? jobFlaw(schedule, contracts);
}

function timingFlaw({ cron, every, zone }: Schedule): string | undefined {
  if ((cron === undefined) === (every === undefined)) {
    return `give it cron or every, not ${cron === undefined ? 'neither' : 'both'}`;
  }
  if (every !== undefined) {
    if (zone !== undefined) return 'zone goes with cron; every counts real time, which is the same in all zones';
    if (typeof every !== 'string') return `every must be text, not ${shown(every)}`;
    return reasonOf(
      () => periodMs(every),
      (reason) => `every must be ${reason}, not ${shown(every)}`,
    );
  }
  if (!isZone(zone)) return `zone must be an IANA time zone such as "Europe/Berlin", not ${shown(zone)}`;
  if (typeof cron !== 'string') return `cron must be text, not ${shown(cron)}`;
  return reasonOf(
    () => {
      // croner takes dates as well.
      if (!FIELDS.test(cron.trim())) throw new RangeError('there are others');
      if (fireTimes({ cron, every, zone }).next(EPOCH) === undefined) throw new RangeError('it never fires');
    },
    (reason) => `cron must be five fields, minute hour day month weekday, not ${shown(cron)}: ${reason}`,
  );
}

const FIELDS = /^(@\w+|\S+(\s+\S+){4})$/;

/** Any: a pattern of five fields that fires at all does so within the 28 years that weekdays take to come round, or 40 with 2100. */
const EPOCH = Date.UTC(2000, 0, 1);

/** Offsets are none: they know no daylight saving, and `Etc/GMT-2` says so by its name. */
function isZone(zone: unknown): zone is string {
  if (typeof zone !== 'string' || !/^[A-Za-z]/.test(zone)) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }) !== undefined;
  } catch {
    return false;
  }
}

function choiceFlaw({ catchUp, overlap }: Schedule): string | undefined {
  if (!['latest', 'all', 'none'].includes(catchUp)) {
    return `catchUp must be 'latest', 'all' or 'none', not ${shown(catchUp)}`;
  }
  if (!['skip', 'allow'].includes(overlap)) return `overlap must be 'skip' or 'allow', not ${shown(overlap)}`;
  if (catchUp === 'all' && overlap === 'skip') {
    return `catchUp 'all' needs overlap: 'allow', for all but the first that is made up for would be skipped`;
  }
  return undefined;
}

function jobFlaw({ kind, payload }: Schedule, contracts: Contracts): string | undefined {
  const contract = typeof kind === 'string' && Object.hasOwn(contracts, kind) ? contractOf(contracts, kind) : undefined;
  if (contract === undefined)
    return `kind ${shown(kind)} has no contract; known kinds: ${knownKinds(contracts, CANARY)}`;
  return reasonOf(
    () => {
      // As the worker will read it: JSON turns a Date into text, and leaves undefined out.
      const plain: unknown = JSON.parse(assertStorable(payload));
      if (holdsSealed({ kind, payload: plain }, contracts)) throw new RangeError('is or holds a sealed value');
      // With asynchronous parts it is read by whoever runs the job, as any other.
      const read = readPlain(contract, kind, plain);
      if (isThenable(read)) Promise.resolve(read).catch(() => {});
    },
    (reason) => `payload: ${reason}`,
  );
}

function reasonOf(check: () => unknown, tell: (reason: string) => string): string | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    return tell(error instanceof Error ? error.message : String(error));
  }
}

/** A BigInt or a cycle is no JSON. */
function shown(value: unknown): string {
  try {
    return JSON.stringify(value)?.slice(0, 100) ?? String(value);
  } catch {
    return typeof value === 'bigint' ? `${value}n` : typeof value;
  }
}
