import { UnstorableError } from '../../functions/queue/errors.ts';
import { assertStorable, VALUE_MAX_BYTES } from '../../functions/queue/storable.ts';
import { describe, expect, test } from '../support/fixtures.ts';

const cycle: Record<string, unknown> = { list: [{}] };
(cycle.list as object[]).push({ up: cycle });
const behind: object[] = [[[{}]]];
behind.push({ up: behind });
const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)]);
let abyss: unknown = 1;
for (let level = 0; level < 100_000; level++) abyss = { abyss };

describe('assertStorable', () => {
  test.for([
    ['undefined', undefined, 'null'],
    ['a date', { at: new Date(0) }, '{"at":"1970-01-01T00:00:00.000Z"}'],
    ['undefined fields', { a: undefined, b: [undefined] }, '{"b":[null]}'],
    ['the same object twice', (() => ((shared) => [shared, shared])({ a: 1 }))(), '[{"a":1},{"a":1}]'],
    [
      'the same object at several depths',
      (() => ((shared) => [[[shared]], shared, { shared }])({}))(),
      '[[[{}]],{},{"shared":{}}]',
    ],
    [
      'an array of 99 levels, twice',
      (() => ((shared) => [shared, shared])(nested(99)))(),
      JSON.stringify([nested(99), nested(99)]),
    ],
    ['text that looks like an escape', '\\u0000 \\ud800', '"\\\\u0000 \\\\ud800"'],
    ['a __proto__ key', JSON.parse('{"__proto__": 1}'), '{"__proto__":1}'],
    ['100 levels', nested(100), JSON.stringify(nested(100))],
  ] as const)('takes %s', ([, value, json]) => {
    expect(assertStorable(value)).toBe(json);
  });

  test.for([
    ['a cycle', cycle, '/list/1/up', 'cycle'],
    ['a BigInt', { n: [1n] }, '/n/0', 'bigint'],
    ['a function', { f: () => 1 }, '/f', 'function'],
    ['a function alone', () => 1, '', 'function'],
    ['a BigInt behind what is deeper', { a: { b: [{}, [{}]] }, c: { d: 1n } }, '/c/d', 'bigint'],
    ['a symbol behind what is deeper', [[[1]], Symbol('s')], '/1', 'symbol'],
    ['a cycle behind what is deeper', behind, '/1/up', 'cycle'],
    ['a symbol', [Symbol('s')], '/0', 'symbol'],
    ['NUL', { a: ['x', '\0'] }, '/a/1', 'NUL'],
    ['NUL in a key', { 'a/\0': 1 }, '/a~1\0', 'NUL'],
    ['half a surrogate pair', { a: '\ud83d' }, '/a', 'surrogate'],
    ['NUL that toJSON brings', { toJSON: () => ({ late: '\0' }) }, '/late', 'NUL'],
    ['101 levels', nested(101), '', '100 levels'],
    ['100,000 levels', abyss, '', '100 levels'],
    [
      'a getter that throws',
      Object.defineProperty({}, 'a', { enumerable: true, get: () => assertStorable(1n) }),
      '',
      'bigint',
    ],
    ['toJSON that throws', { toJSON: () => Promise.reject.call(null) }, '', 'threw'],
    ['a hostile proxy', new Proxy({}, { ownKeys: () => Promise.reject.call(null) as never }), '', 'threw'],
    ['too much', 'x'.repeat(VALUE_MAX_BYTES - 1), '', '262144'],
    ['too many bytes', 'ü'.repeat(VALUE_MAX_BYTES / 2), '', '262144'],
  ] as const)('refuses %s, with its pointer', ([, value, pointer, says]) => {
    let refusal: unknown;
    try {
      assertStorable(value);
    } catch (error) {
      refusal = error;
    }
    expect(refusal).toBeInstanceOf(UnstorableError);
    expect(refusal).toMatchObject({ pointer, message: expect.stringContaining(says) });
  });

  test('takes 256 KiB to the byte, as Postgres then does', async ({ db }) => {
    const text = assertStorable('x'.repeat(VALUE_MAX_BYTES - 2));
    expect(Buffer.byteLength(text)).toBe(VALUE_MAX_BYTES);
    await db.query('SELECT $1::jsonb', [text]);
  });

  test('draws the line where Postgres does', async ({ db }) => {
    for (const json of ['"\\u0000"', '"\\ud83d"', '{"\\udc00": 1}']) {
      await expect(db.query('SELECT $1::jsonb', [json])).rejects.toThrow();
    }
    for (const value of ['\\u0000', '\u{1F680}', '\uffff', '\x01', nested(100)]) {
      await db.query('SELECT $1::jsonb', [assertStorable(value)]);
    }
  });
});
