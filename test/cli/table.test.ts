import { afterEach, describe, expect, test, vi } from 'vitest';
import { ago, duration } from '../../cli/ago.ts';
import {
  exactTimeArgument,
  idArgument,
  nameArgument,
  secondsArgument,
  textArgument,
  timeArgument,
} from '../../cli/arguments.ts';
import { json, wire } from '../../cli/json.ts';
import { type Column, linesFor } from '../../cli/table.ts';
import { terminal } from '../../cli/terminal.ts';
import { visible, visibleLines } from '../../cli/visible.ts';
import { cut, widthOf } from '../../cli/width.ts';

afterEach(() => void vi.restoreAllMocks());

describe('width', () => {
  test.each([
    ['abc', 3],
    ['Ünïcödé', 7],
    ['e\u0301', 1],
    ['日本語', 6],
    ['한글', 4],
    ['ｆｕｌｌ', 8],
    ['🎉', 2],
    ['👩‍👩‍👧', 2],
    ['❤️', 2],
    ['…', 1],
  ])('of %s is %i', (text, columns) => expect(widthOf(text)).toBe(columns));

  test.each([
    ['abcdef', 6, 'abcdef'],
    ['abcdef', 5, 'abcd…'],
    ['日本語', 5, '日本…'],
    ['日本語', 4, '日…'],
    ['日本語', 6, '日本語'],
    ['👩‍👩‍👧👩‍👩‍👧', 3, '👩‍👩‍👧…'],
    ['abc', 0, ''],
  ])('%s is cut to %i columns', (text, columns, kept) => {
    expect(cut(text, columns)).toBe(kept);
    expect(widthOf(cut(text, columns))).toBeLessThanOrEqual(columns);
  });
});

describe('a table', () => {
  interface Row {
    readonly name: string;
    readonly jobs: number;
  }
  const columns: Column<Row>[] = [
    { title: 'name', of: ({ name }) => name, cuts: true },
    { title: 'jobs', of: ({ jobs }) => jobs, align: 'right' },
    { title: 'fixed', of: () => 'xxxxxxxxxx' },
  ];
  const rows = [
    { name: 'a', jobs: 7 },
    { name: '日本語-日本語-日本語', jobs: 1234 },
  ];

  test('has its columns below each other, wide characters or not', () => {
    expect(linesFor(columns, rows, 80)).toEqual([
      'name                  jobs  fixed',
      'a                        7  xxxxxxxxxx',
      '日本語-日本語-日本語  1234  xxxxxxxxxx',
    ]);
  });

  test('keeps to the width of the terminal', () => {
    const lines = linesFor(columns, rows, 30);
    expect(lines).toEqual([
      'name          jobs  fixed',
      'a                7  xxxxxxxxxx',
      '日本語-日本…  1234  xxxxxxxxxx',
    ]);
    expect(lines.map(widthOf).every((width) => width <= 30)).toBe(true);
    // What is not to be cut stays whole on one that is too narrow for anything.
    expect(linesFor(columns, rows, 10).at(-1)).toMatch(/…\s+1234 {2}xxxxxxxxxx$/);
  });

  test('leaves out what says nothing, and what is spare where there is no room', () => {
    const wide: Column<Row>[] = [
      ...columns.slice(0, 2),
      { title: 'nothing', of: () => null },
      { title: 'spare', of: () => 1, spare: true },
      { title: 'last', of: () => 2, spare: true },
    ];
    expect(linesFor(wide, rows, 80)[0]).toBe('name                  jobs  spare  last');
    expect(linesFor(wide, rows, 34)[0]).toBe('name                  jobs  spare');
    expect(linesFor(wide, rows, 26)[0]).toBe('name                  jobs');
    expect(linesFor(wide, [{ name: '', jobs: 0 }], 80)[0]).toBe('name  jobs  spare  last');
  });

  test('what a person needs less goes when cutting the rest to 8 columns is not enough', () => {
    const listed: Column<{ name: string }>[] = [
      { title: 'id', of: () => 'x'.repeat(20) },
      { title: 'age', of: () => '2h ago', spare: 'at-last' },
      { title: 'name', of: ({ name }) => name, cuts: true },
    ];
    const rows = [{ name: 'a'.repeat(50) }];
    expect(linesFor(listed, rows, 60)[1]).toBe(`${'x'.repeat(20)}  2h ago  ${'a'.repeat(29)}…`);
    expect(linesFor(listed, rows, 38)[1]).toBe(`${'x'.repeat(20)}  2h ago  aaaaaaa…`);
    expect(linesFor(listed, rows, 37)[1]).toBe(`${'x'.repeat(20)}  ${'a'.repeat(14)}…`);
  });

  test('is painted within its columns', () => {
    vi.spyOn(terminal, 'isWatched', 'get').mockReturnValue(true);
    const painted: Column<Row>[] = [
      { title: 'name', of: ({ name }) => name, paint: (text) => `<${text}>` },
      ...columns.slice(1),
    ];
    expect(linesFor(painted, [{ name: 'a', jobs: 1 }], 80)[1]).toBe('<a>        1  xxxxxxxxxx');
  });
});

describe('text from the database', () => {
  test.each([
    ['\x1b[31mred\x1b[0m', '\\x1b[31mred\\x1b[0m'],
    ['a\r\nb\tc\0', 'a\\r\\nb\\tc\\x00'],
    ['\x9b31m', '\\x9b31m'],
    ['\u202egnp.exe', '\\u{202e}gnp.exe'],
    ['\ud800', '\\u{d800}'],
    ['👩‍👩‍👧 é 日本', '👩‍👩‍👧 é 日本'],
  ])('%j is shown as %j', (text, shown) => expect(visible(text)).toBe(shown));

  test('keeps its lines where it may have some', () => {
    expect(visibleLines('a\r\nb\x07')).toEqual(['a', 'b\\x07']);
  });

  test('is JSON that a terminal can be shown', () => {
    const text = '\x1b\x7f\x9b\u202e\u2028"';
    expect(json({ text })).toBe('{"text":"\\u001b\\u007f\\u009b\\u202e\\u2028\\""}');
    expect(JSON.parse(json({ text }))).toEqual({ text });
  });

  test('has the names of the wire, but where they are the user’s own', () => {
    const job = { maxAttempts: 1, errors: [{ failedAt: 'x' }], payload: { aB: [{ cD: 1 }] }, result: { eF: 1 } };
    expect(wire(job)).toEqual({
      max_attempts: 1,
      errors: [{ failed_at: 'x' }],
      payload: job.payload,
      result: job.result,
    });
  });
});

describe('times', () => {
  const now = Date.parse('2026-11-29T12:00:00Z');
  test.each([
    ['2026-11-29T12:00:00.400Z', 'now'],
    ['2026-11-29T11:59:57Z', '3s ago'],
    ['2026-11-29T11:00:00Z', '1h ago'],
    ['2026-11-27T11:00:00Z', '2d ago'],
    ['2026-11-29T12:02:30Z', 'in 2m'],
    [null, ''],
  ])('%s is %s', (time, said) => expect(ago(time, now)).toBe(said));

  test('spans', () => expect([0.25, 59, 61, 7200].map(duration)).toEqual(['250ms', '59s', '1m', '2h']));

  test('are taken as they are written', () => {
    expect(exactTimeArgument('2030-01-31T08:00:00+01:00').toISOString()).toBe('2030-01-31T07:00:00.000Z');
    expect(timeArgument('2030-01-31').toISOString()).toBe('2030-01-31T00:00:00.000Z');
    expect(Math.abs(Date.now() - 7_200_000 - timeArgument('2h').getTime())).toBeLessThan(1000);
    expect([secondsArgument('90'), secondsArgument('1.5m'), secondsArgument('1w')]).toEqual([90, 90, 604_800]);
  });

  test.each(['2030-02-30', '2030-01-31T08:00', 'yesterday', '2030-13-01', '', '2x'])('%j is none', (text) => {
    expect(() => timeArgument(text)).toThrow('It takes a time with its zone');
    expect(() => exactTimeArgument(text)).toThrow('It takes a time with its zone');
    expect(() => secondsArgument(text)).toThrow('It takes seconds');
  });
});

test('ids, names and texts are looked at before anything is asked', () => {
  expect(idArgument('0196A3C8-1D6E-7D2B-8F0A-3F5A9F6B2C11')).toBe('0196a3c8-1d6e-7d2b-8f0a-3f5a9f6b2c11');
  expect(() => idArgument('0196a3c8')).toThrow('id of a job');
  expect(nameArgument('invoice.send')).toBe('invoice.send');
  expect(() => nameArgument('-x')).toThrow('letters, digits');
  expect(textArgument('日'.repeat(255))).toHaveLength(255);
  expect(() => textArgument('')).toThrow('1 to 255');
});
