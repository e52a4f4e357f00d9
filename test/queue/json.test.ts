import { jsonFlaws, parseJson, parseJsonList } from '../../functions/queue/json.ts';
import { describe, expect, test } from '../support/fixtures.ts';

const flawsIn = (text: string) => {
  const parsed = parseJson(text);
  return parsed.kind === 'flawed' ? parsed.flaws : [];
};

describe('parseJson', () => {
  test.for([
    'null',
    '0',
    '-0',
    '"\\u0041\\ud83d\\ude80\\\\u0000 \u{1F680}"',
    '{"a": {"b": [1, 2.5, "x", true, null, {}]}, "": [], "\\"": "\\\\"}',
    '"[[[[ {{{{ \\" [["',
  ])('takes %s as JSON.parse does', (text) => {
    expect(parseJson(text)).toEqual({ kind: 'parsed', value: JSON.parse(text) });
  });

  test.for([
    '',
    ' ',
    '{',
    '[1',
    '{"a":}',
    "{'a': 1}",
    'NaN',
    '01',
    '"\n"',
    '[1],',
    '"',
    '"\\',
    '\ufeff{}',
    'undefined',
  ])('says that %j is not JSON', (text) => {
    expect(parseJson(text)).toEqual({ kind: 'malformed', detail: expect.any(String) });
  });

  test.for([
    ['9007199254740992', 'as it is'],
    ['-9007199254740991', 'as it is'],
    ['9007199254740993', 'changed'],
    ['-9007199254740993', 'changed'],
    ['9007199254740993.0', 'changed'],
    ['900719925474099.3e1', 'changed'],
    ['90071992547409930e-1', 'changed'],
    // Exact in binary, but JavaScript would write it down with other digits.
    ['1152921504606846976', 'changed'],
    ['1000000000000000000000', 'as it is'],
    ['100e-2', 'as it is'],
    ['1e23', 'as it is'],
    ['1E+22', 'as it is'],
    ['0.000e99999', 'as it is'],
    ['1e309', 'changed'],
    ['-1e400', 'changed'],
    [`${'1'.repeat(400)}.5`, 'changed'],
    ['1e-400', 'changed'],
    // A fraction may lose digits, as everywhere.
    ['0.12345678901234567890', 'as it is'],
    ['3.141592653589793238462643383279', 'as it is'],
  ])('the number %s comes through %s', ([number = '', how]) => {
    expect(flawsIn(`{"n": [${number}]}`)).toEqual(
      how === 'as it is' ? [] : [{ pointer: '/n/0', detail: expect.stringContaining(number.slice(0, 40)) }],
    );
    // The check looks only at texts that may hold such numbers: that guess must not miss one.
    expect(flawsIn(number)).toHaveLength(how === 'as it is' ? 0 : 1);
  });

  test('points at what Postgres cannot store, in the order of the text', () => {
    const text =
      '{"b": ["ok", "\\u0000"], "a/~": {"\\udc00": 1, "c": "\\ud800x"}, "__proto__": {}, "d\\u0000": "\\u0000"}';
    expect(flawsIn(text).map(({ pointer }) => pointer)).toEqual([
      '/b/1',
      '/a~1~0/\udc00',
      '/a~1~0/c',
      '/__proto__',
      '/d\0',
    ]);
  });

  test('takes 100 levels, and of more says where they are', () => {
    const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
    expect(parseJson(nested(100)).kind).toBe('parsed');
    expect(flawsIn(nested(101))).toEqual([{ pointer: '', detail: expect.stringContaining('at character 101') }]);
    expect(flawsIn(`{"a":`.repeat(10_000))).toHaveLength(1);
    expect(parseJson(`[${'[],'.repeat(500)}[]]`).kind).toBe('parsed');
  });

  test('stops at 20 flaws, and shows 100 characters of a key', () => {
    expect(flawsIn(`[${Array(1000).fill('"\\u0000"').join()}]`)).toHaveLength(20);
    expect(flawsIn(`{${Array.from({ length: 1000 }, (_, n) => `"${n}\\u0000": 1`).join()}}`)).toHaveLength(20);
    expect(flawsIn(`{"${'k'.repeat(100_000)}": "\\u0000"}`)[0]?.pointer).toHaveLength(102);
  });

  test('is done with half a megabyte of anything within a second', () => {
    const began = performance.now();
    for (const part of ['1e1,', '"\\u0000",', '[],', '{"a":1},', '9007199254740993,', '"\\\\",']) {
      parseJson(`[${part.repeat(540_000 / part.length)}0]`);
    }
    parseJson(`1${'0'.repeat(540_000)}1`);
    expect(performance.now() - began).toBeLessThan(7000);
  });
});

describe('parseJsonList', () => {
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
  /** Flaws of each value of `{"list": […]}`. */
  const flawsOfEach = (...values: string[]) => {
    const parsed = parseJsonList(`{"list": [${values.join()}]}`, 2);
    if (parsed.kind === 'malformed') throw new Error(parsed.detail);
    return (parsed.value as { list: unknown[] }).list.map(jsonFlaws);
  };

  test('what is wrong with one value is said of that one', () => {
    const altered = { pointer: '/n', detail: expect.stringContaining('9007199254740993') };
    expect(flawsOfEach('1', '{"n": 9007199254740993}', '"\\u0000"', '{"n": 9007199254740992}')).toEqual([
      [],
      [altered],
      [{ pointer: '', detail: expect.stringContaining('NUL') }],
      [],
    ]);
  });

  test('each may be as deep as a value alone, whatever it lies in', () => {
    const tooDeep = [{ pointer: '', detail: 'is nested deeper than 100 levels' }];
    expect(flawsOfEach(nested(100), nested(101), '1e1', nested(1_000_000))).toEqual([[], tooDeep, [], tooDeep]);
    expect(flawsOfEach(nested(99).replace('[]', '[{"n": 1e400}]'))[0]).toHaveLength(1);
  });

  test('says what is not JSON', () => {
    expect(parseJsonList('{"list": [', 2)).toEqual({ kind: 'malformed', detail: expect.any(String) });
  });
});
