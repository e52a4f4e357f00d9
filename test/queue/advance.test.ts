import { advance, type Sight } from '../../functions/queue/advance.ts';
import type { Position } from '../../functions/queue/marks.ts';
import { describe, expect, test } from '../support/fixtures.ts';

/** Times of one day, to the minute. */
const at = (clock: string) => `2030-01-01T${clock}:00.000000Z`;
const every = (mark: string | null) => Array<string | null>(11).fill(mark);
/** Marks of all priorities, some of them set. */
const marks = (rest: string | null, set: Record<number, string | null>) =>
  every(rest).map((mark, i) => (5 - i in set ? (set[5 - i] as string | null) : mark));

const position: Position = {
  marks: every(at('08:00')),
  near: null,
  suspectMark: null,
  rescannedAt: at('07:00'),
  resumedAt: null,
};
const nothing: Sight = {
  near: false,
  nearUntil: at('09:05'),
  seenUntil: at('09:00'),
  lookedBack: false,
  resumedAt: null,
  suspectDue: false,
  exhausted: false,
  urgent: [],
  nextHeads: [],
  leftOut: [],
};
const spot = (priority: number, clock: string) => ({ priority, runAt: at(clock) });

describe('advance', () => {
  test('a claim that found less than it asked for has seen everything', () => {
    const sight = { ...nothing, exhausted: true, urgent: [spot(0, '08:30')] };
    expect(advance(position, sight).marks).toEqual(every(at('09:00')));
  });

  test('a full claim has seen its lowest priority up to its last row, all above, and nothing below', () => {
    const sight = { ...nothing, urgent: [spot(3, '08:50'), spot(1, '08:10'), spot(1, '08:40')] };
    const seen = { 5: at('09:00'), 4: at('09:00'), 3: at('09:00'), 2: at('09:00'), 1: at('08:40') };
    expect(advance(position, sight).marks).toEqual(marks(at('08:00'), seen));
  });

  test('no mark goes beyond the grace, where a late commit may still appear', () => {
    const sight = { ...nothing, urgent: [spot(0, '09:01')] };
    expect(advance(position, sight).marks[5]).toBe(at('09:00'));
  });

  test('a row that came late takes its priority back to it: others may have come with it', () => {
    const sight = { ...nothing, urgent: [spot(0, '07:59')] };
    expect(advance(position, sight).marks[5]).toBe(at('07:59'));
  });

  test('in looking for the oldest it has seen the priorities that it did not get to, up to what it left', async () => {
    const sight = { ...nothing, urgent: [spot(5, '08:30')], nextHeads: [spot(5, '08:10'), spot(-5, '08:20')] };
    expect(advance(position, sight).marks).toEqual(marks(at('08:00'), { 5: at('08:30'), [-5]: at('08:20') }));
  });

  test('a claim of the oldest alone moves the marks as well', () => {
    const sight = { ...nothing, nextHeads: [spot(2, '08:20'), spot(0, '09:02')] };
    expect(advance(position, sight).marks).toEqual(marks(at('08:00'), { 2: at('08:20'), 0: at('09:00') }));
  });

  test('no mark passes a row that was too heavy', () => {
    const urgent = [spot(1, '08:30'), spot(1, '08:40'), spot(0, '08:20')];
    const sight = { ...nothing, urgent, leftOut: [spot(1, '08:40'), spot(0, '08:20')] };
    const seen = { 5: at('09:00'), 4: at('09:00'), 3: at('09:00'), 2: at('09:00'), 1: at('08:40'), 0: at('08:20') };
    expect(advance(position, sight).marks).toEqual(marks(at('08:00'), seen));
    expect(advance(position, { ...sight, exhausted: true }).marks).toEqual(
      marks(at('09:00'), { 1: at('08:40'), 0: at('08:20') }),
    );
  });

  test('nor one that was too heavy for those taken for their age', () => {
    const leftOut = [spot(-3, '08:05')];
    const sight = { ...nothing, exhausted: true, urgent: [spot(0, '08:30')], leftOut };
    expect(advance(position, sight).marks).toEqual(marks(at('09:00'), { [-3]: at('08:05') }));
  });

  test('a look-back forgets what was seen before', () => {
    const sight = { ...nothing, lookedBack: true, resumedAt: at('08:59'), urgent: [spot(4, '06:00')] };
    expect(advance(position, sight)).toEqual({
      near: marks(null, { 5: at('09:05'), 4: at('06:00') }),
      suspectMark: at('09:00'),
      marks: marks(null, { 5: at('09:00'), 4: at('06:00') }),
      rescannedAt: at('07:00'),
      resumedAt: at('08:59'),
    });
  });

  test('a mark at the beginning stays there until its priority was looked at', () => {
    const fresh = { ...position, marks: every(null) };
    const sight = { ...nothing, urgent: [spot(0, '08:30')] };
    expect(advance(fresh, sight).marks.slice(6)).toEqual(Array(5).fill(null));
  });

  test('near marks go on to the short grace', () => {
    const sight = { ...nothing, urgent: [spot(1, '09:03')], nextHeads: [spot(0, '09:02')] };
    const seen = { 5: at('09:05'), 4: at('09:05'), 3: at('09:05'), 2: at('09:05'), 1: at('09:03'), 0: at('09:02') };
    expect(advance(position, sight).near).toEqual(marks(at('08:00'), seen));
  });

  test('the mark of suspects waits for one that was left, and goes back with a look-back', () => {
    const seen: Position = { ...position, suspectMark: at('08:30') };
    expect(advance(seen, nothing).suspectMark).toBe(at('09:00'));
    expect(advance(seen, { ...nothing, suspectDue: true }).suspectMark).toBe(at('08:30'));
    expect(advance(seen, { ...nothing, suspectDue: true, lookedBack: true }).suspectMark).toBeNull();
  });

  describe('of a claim from the near marks', () => {
    const ahead: Position = { ...position, near: marks(at('08:00'), { 5: at('08:50'), 4: at('08:50') }) };
    const sight = { ...nothing, near: true };

    test('marks stay where the near ones are ahead of them: what lies between was not looked at', () => {
      const found = { ...sight, urgent: [spot(4, '08:58'), spot(3, '08:20')] };
      expect(advance(ahead, found)).toMatchObject({
        marks: marks(at('08:00'), { 3: at('08:20') }),
        near: marks(at('08:00'), { 5: at('09:05'), 4: at('09:05'), 3: at('08:20') }),
      });
    });

    test('no mark of either sort passes a row that was too heavy', () => {
      const found = { ...sight, exhausted: true, leftOut: [spot(5, '08:55'), spot(0, '08:30')] };
      expect(advance(ahead, found)).toMatchObject({
        marks: marks(at('09:00'), { 5: at('08:00'), 4: at('08:00'), 0: at('08:30') }),
        near: marks(at('09:05'), { 5: at('08:55'), 0: at('08:30') }),
      });
    });

    test('a look-back leaves no gap', () => {
      const found = { ...sight, lookedBack: true, exhausted: true };
      expect(advance(ahead, found)).toMatchObject({ marks: every(at('09:00')), near: every(at('09:05')) });
    });
  });
});
