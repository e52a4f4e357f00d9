import { expect, test } from 'vitest';
import { attemptError } from '../../functions/queue/attempt-error.ts';
import { PermanentError } from '../../functions/queue/errors.ts';

const at = { attempt: 3, startedAt: new Date(0), failedAt: new Date(1500), where: 'host:7' };

test('an Error: its class, its message, the frames of its stack, and when', () => {
  const error = attemptError(new PermanentError('no such customer'), at);
  expect(error).toMatchObject({
    attempt: 3,
    started_at: '1970-01-01T00:00:00.000Z',
    failed_at: '1970-01-01T00:00:01.500Z',
    where: 'host:7',
    name: 'PermanentError',
    message: 'no such customer',
  });
  expect(error.stack).toMatch(/^ {4}at /);
});

test('causes are named, since "fetch failed" alone helps nobody', () => {
  const cause = new Error('', { cause: 'the root' });
  const refused = Object.assign(cause, { code: 'ECONNREFUSED' });
  expect(attemptError(new TypeError('fetch failed', { cause: refused }), at).message).toBe(
    "fetch failed; cause: ECONNREFUSED; cause: 'the root'",
  );
});

test('a circle of causes ends', () => {
  const a = new Error('a');
  a.cause = new Error('b', { cause: a });
  expect(attemptError(a, at).message).toBe('a; cause: b; cause: a; cause: b');
});

const hostile = new Proxy(
  {},
  {
    get() {
      throw new Error('get');
    },
    getPrototypeOf() {
      throw new Error('getPrototypeOf');
    },
    ownKeys() {
      throw new Error('ownKeys');
    },
  },
);

class Trap extends Error {
  override get message(): string {
    throw new Error('message');
  }
  override get stack(): string {
    throw new Error('stack');
  }
  override get name(): string {
    throw new Error('name');
  }
  override get cause(): unknown {
    throw new Error('cause');
  }
  override toString(): string {
    throw new Error('toString');
  }
}

test.each([
  ['undefined', undefined, 'the processor threw undefined in place of an Error'],
  ['null', null, 'the processor threw null in place of an Error'],
  ['a text', 'boom', "the processor threw 'boom' in place of an Error"],
  ['a symbol', Symbol('s'), 'the processor threw Symbol(s) in place of an Error'],
  ['an object', { status: 500 }, 'the processor threw { status: 500 } in place of an Error'],
  [
    'an object without a prototype',
    Object.create(null),
    'the processor threw [Object: null prototype] {} in place of an Error',
  ],
  ['a Proxy that throws on every access', hostile, 'cannot be read'],
  ['a revoked Proxy', revoked(), 'cannot be read'],
  ['an Error whose every getter throws', new Trap(), 'no message'],
  ['an Error with a number as its message', Object.assign(new Error(), { message: 42 }), 'no message'],
])('thrown: %s', (_, thrown, message) => {
  const error = attemptError(thrown, at);
  expect(error.message).toContain(message);
  expect(typeof error.name).toBe('string');
});

test.each([
  ['10 MB of message', new Error('x'.repeat(10_000_000))],
  ['10 MB of quotes, which JSON doubles', new Error('"'.repeat(10_000_000))],
  ['control characters, which JSON makes six of', named(new Error('\x01'.repeat(10_000)), '\x02'.repeat(10_000))],
  ['characters of four bytes', new Error('😀'.repeat(100_000))],
  ['a stack of 1 MB', Object.assign(new Error('m'), { stack: `Error: m\n    at ${'y'.repeat(1_000_000)}` })],
  ['a text of 10 MB', 'z'.repeat(10_000_000)],
])('%s takes at most 4 KB of JSON', (_, thrown) => {
  const error = attemptError(thrown, { ...at, attempt: 1000, where: '"'.repeat(10_000) });
  const bytes = Buffer.byteLength(JSON.stringify(error));
  expect(bytes).toBeLessThanOrEqual(4096);
  expect(JSON.stringify(error)).toMatch(/…|\.\.\. 9999000 more characters/);
});

test('where it was is cut at 200 bytes, and left out where nobody knows', () => {
  expect(attemptError(new Error('m'), { ...at, where: 'w'.repeat(200) }).where).toBe('w'.repeat(200));
  expect(attemptError(new Error('m'), { ...at, where: 'w'.repeat(1000) }).where).toMatch(/^w{100,199}…$/);
  const { where, ...nobody } = at;
  expect(attemptError(new Error('m'), nobody)).not.toHaveProperty('where');
});

test('what jsonb refuses is replaced: NUL and half a surrogate pair', () => {
  const error = attemptError(named(new Error('a\0b\ud800c'), 'N\0\udfff'), at);
  expect(error.message).toBe('a\uFFFDb\uFFFDc');
  expect(error.name).toBe('N\uFFFD\uFFFD');
});

function named(error: Error, name: string): Error {
  error.name = name;
  return error;
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}
