import { createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { aesGcm } from '../../functions/queue/aes-codec.ts';
import { CodecError } from '../../functions/queue/codec.ts';

const [OLD, NEW] = [Buffer.alloc(32, 1).toString('base64'), Buffer.alloc(32, 2).toString('hex')];
const about = { kind: 'mail.send' };
const plain = Buffer.from('{"to":"ann@example.org"}');
const codec = aesGcm(() => OLD);
const encoded = () => Buffer.from(codec.encode(plain, about) as Uint8Array);
const opened = (stored: Uint8Array, by = codec, kind = about.kind) =>
  Buffer.from(by.decode(stored, { kind }) as Uint8Array);

describe('aesGcm', () => {
  test('gives back what it was given, of whatever length', () => {
    for (const bytes of [0, 1, 15, 16, 4096, 1_000_000]) {
      const value = randomBytes(bytes);
      const stored = codec.encode(value, about) as Uint8Array;
      expect(stored.length).toBe(bytes + 45);
      expect(opened(stored).equals(value)).toBe(true);
    }
  });

  test('is what its docs say, byte by byte', () => {
    const key = Buffer.from(OLD, 'base64');
    const derived = (use: string, size: number) =>
      Buffer.from(hkdfSync('sha256', key, '', `millrace aesGcm 1 ${use}`, size));
    const stored = encoded();
    const framed = Buffer.concat([Buffer.of(0, 9), Buffer.from('mail.send'), plain]);
    const iv = createHmac('sha256', derived('mac', 32)).update(framed).digest().subarray(0, 24);
    expect(stored.subarray(0, 29)).toEqual(Buffer.concat([Buffer.of(1), derived('id', 4), iv]));
    const own = createHmac('sha256', derived('encryption', 32)).update(iv.subarray(0, 12)).digest();
    const cipher = createDecipheriv('aes-256-gcm', own, iv.subarray(12));
    cipher.setAAD(Buffer.concat([stored.subarray(0, 29), Buffer.from('mail.send')])).setAuthTag(stored.subarray(-16));
    expect(Buffer.concat([cipher.update(stored.subarray(29, -16)), cipher.final()])).toEqual(plain);
  });

  test('writes the same bytes for ever: what is stored must be legible to later releases', () => {
    expect(encoded().toString('hex')).toBe(KNOWN);
    expect(opened(Buffer.from(KNOWN, 'hex'))).toEqual(plain);
  });

  test('equal values of a kind are equal bytes; another value, kind or key makes others in every part', () => {
    expect(encoded()).toEqual(encoded());
    const others = [
      codec.encode(Buffer.from('{"to":"ann@example.orh"}'), about),
      codec.encode(plain, { kind: 'mail.sent' }),
      // Where the kind ends is part of what is hashed.
      codec.encode(Buffer.from('d{"to":"ann@example.org"}'), { kind: 'mail.sen' }),
      aesGcm(() => NEW).encode(plain, about),
    ] as Buffer[];
    for (const other of others) expect(other.subarray(5, 29)).not.toEqual(encoded().subarray(5, 29));
  });

  test('whatever bit is altered, it is not opened', () => {
    const stored = encoded();
    for (let bit = 0; bit < stored.length * 8; bit += 7) {
      const altered = Buffer.from(stored);
      altered[bit >> 3] = (altered[bit >> 3] as number) ^ (1 << (bit & 7));
      expect(() => opened(altered)).toThrow(CodecError);
    }
    expect(() => opened(stored.subarray(0, -1))).toThrow('was altered');
    expect(() => opened(Buffer.alloc(0))).toThrow('was not sealed by aesGcm');
  });

  test('what was sealed for one kind is not opened as another', () => {
    expect(() => opened(encoded(), codec, 'mail.sent')).toThrow('was altered, or sealed for another kind');
  });

  test('the first key seals, all open; without its key it says which one it was', () => {
    const both = aesGcm(() => [NEW, OLD]);
    const fresh = both.encode(plain, about) as Uint8Array;
    expect(opened(encoded(), both)).toEqual(plain);
    expect(opened(fresh, both)).toEqual(plain);
    expect(
      opened(
        fresh,
        aesGcm(() => `${OLD},\n ${NEW}`),
      ),
    ).toEqual(plain);
    const id = Buffer.from(fresh).subarray(1, 5).toString('hex');
    expect(() => opened(fresh)).toThrow(
      new RegExp(`sealed with the key ${id}, and aesGcm has [0-9a-f]{8}: add that key`),
    );
  });

  test('keys are asked for when they are needed, and again once they have changed', () => {
    let keys: string | undefined;
    const lazy = aesGcm(() => keys);
    expect(() => lazy.encode(plain, about)).toThrow('aesGcm was given no key: set the variable');
    keys = OLD;
    expect(lazy.encode(plain, about)).toEqual(encoded());
    keys = NEW;
    expect(lazy.encode(plain, about)).not.toEqual(encoded());
  });

  test.each([
    ['too short', randomBytes(16).toString('base64')],
    ['too long', randomBytes(48).toString('base64')],
    ['hex of half a key', randomBytes(16).toString('hex')],
    ['words', 'correct horse battery staple'],
  ])('a key that is %s is refused without being shown', (_, key) => {
    const [first] = key.split(' ') as [string];
    const attempt = () => aesGcm(() => [OLD, key]).encode(plain, about);
    expect(attempt).toThrow(
      /^aesGcm needs keys of 32 bytes in base64 or hex, and key 2 of \d is none: make one with openssl/,
    );
    expect(attempt).not.toThrow(first);
  });
});

const KNOWN =
  '01486e355a0407fe22da20074a07c5029da68dba9db05ffac5dbef51334f2f1dc85287760817178b0069b2bc70e682531b11365835b1bd9d8aa78a73d5b9f82dc3ec3cea23';
