import { createCipheriv, createDecipheriv, createHmac, hkdfSync } from 'node:crypto';
import { type Codec, CodecError } from './codec.ts';

/** Keys of 32 bytes in base64 or hex. A text may hold several, by commas or white space. */
type Keys = () => string | readonly string[] | undefined;

const VERSION = 1;
const KEY_BYTES = 32;
const ID_BYTES = 4;
/** Half of it is the salt of a value's own key, half its nonce. */
const IV_BYTES = 24;
const TAG_BYTES = 16;
const HEAD_BYTES = 1 + ID_BYTES + IV_BYTES;

/**
 * The ready codec: AES-256-GCM. The first key encrypts, all decrypt, so a key is changed by putting the new one before the
 * old, which goes once no job needs it any more. `keys` is called when a value is sealed or opened, never earlier: contracts
 * are evaluated where there are no keys, as at synth.
 *
 * Equal values of a kind make equal bytes, which idempotency keys need. That is the synthetic IV of Rogaway and Shrimpton
 * (Deterministic Authenticated-Encryption, EUROCRYPT 2006): an HMAC-SHA-256 of kind and value, here of 24 bytes. Since GCM takes
 * 12, the first half derives a key for this value alone, as XAES-256-GCM does for nonces of that length (C2SP, there by CMAC):
 * the bound of 2^32 values per key for GCM with nonces like random ones (NIST SP 800-38D, 8.3) is not met in practice.
 * The keys for it come from the given one by HKDF-SHA-256 (RFC 5869). Kind, version and key id are authenticated (AAD).
 *
 * What is stored: version (1 byte), id of the key (4), synthetic IV (24), ciphertext, tag (16). Visible are its length, and
 * which values of one kind and key are equal.
 */
export function aesGcm(keys: Keys): Codec {
  const ring = keyRing(keys);
  return {
    encode(plain, { kind }) {
      const [key] = ring();
      const name = Buffer.from(kind);
      const iv = hmac(key.mac, length(name), name, plain).subarray(0, IV_BYTES);
      const head = Buffer.concat([Buffer.of(VERSION), key.id, iv]);
      const cipher = createCipheriv('aes-256-gcm', hmac(key.encryption, iv.subarray(0, 12)), iv.subarray(12));
      cipher.setAAD(Buffer.concat([head, name]));
      return Buffer.concat([head, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
    },
    decode(stored, { kind }) {
      const bytes = Buffer.from(stored);
      if (bytes[0] !== VERSION || bytes.length < HEAD_BYTES + TAG_BYTES) {
        throw new CodecError('this was not sealed by aesGcm');
      }
      const id = bytes.subarray(1, 1 + ID_BYTES);
      const all = ring();
      const key = all.find((one) => one.id.equals(id));
      if (key === undefined) {
        throw new CodecError(
          `this was sealed with the key ${id.toString('hex')}, and aesGcm has ${namesOf(all)}: add that key`,
        );
      }
      const iv = bytes.subarray(1 + ID_BYTES, HEAD_BYTES);
      const cipher = createDecipheriv('aes-256-gcm', hmac(key.encryption, iv.subarray(0, 12)), iv.subarray(12));
      cipher.setAAD(Buffer.concat([bytes.subarray(0, HEAD_BYTES), Buffer.from(kind)]));
      cipher.setAuthTag(bytes.subarray(-TAG_BYTES));
      try {
        return Buffer.concat([cipher.update(bytes.subarray(HEAD_BYTES, -TAG_BYTES)), cipher.final()]);
      } catch {
        throw new CodecError('this was altered, or sealed for another kind');
      }
    },
  };
}

interface Key {
  /** The same for the same key, and nothing of it. */
  readonly id: Buffer;
  readonly mac: Buffer;
  readonly encryption: Buffer;
}
type Ring = readonly [Key, ...Key[]];

/** The keys as they are now, derived once for as long as they stay the same. */
function keyRing(keys: Keys): () => Ring {
  let known: { readonly texts: string; readonly ring: Ring } | undefined;
  return () => {
    const given = keys();
    const texts = [given ?? []].flat().join(' ');
    if (known?.texts !== texts) known = { texts, ring: ringOf(texts.split(/[\s,]+/).filter(Boolean)) };
    return known.ring;
  };
}

function ringOf(texts: readonly string[]): Ring {
  const [first, ...others] = texts.map((text, at) => keyOf(bytesOf(text, at, texts.length)));
  if (first === undefined)
    throw new CodecError('aesGcm was given no key: set the variable that it reads where this runs');
  return [first, ...others];
}

/** @throws CodecError that says nothing of what the text holds */
function bytesOf(text: string, at: number, count: number): Buffer {
  const bytes = /^[0-9a-f]{64}$/i.test(text) ? Buffer.from(text, 'hex') : Buffer.from(text, 'base64');
  if (bytes.length === KEY_BYTES && /^[\w+/-]+={0,2}$/.test(text)) return bytes;
  throw new CodecError(
    `aesGcm needs keys of ${KEY_BYTES} bytes in base64 or hex, and key ${at + 1} of ${count} is none: make one with openssl rand -base64 32`,
  );
}

function keyOf(bytes: Buffer): Key {
  const derived = (use: string, size: number) =>
    Buffer.from(hkdfSync('sha256', bytes, '', `millrace aesGcm 1 ${use}`, size));
  return { id: derived('id', ID_BYTES), mac: derived('mac', 32), encryption: derived('encryption', 32) };
}

function namesOf(keys: Ring): string {
  return keys.map(({ id }) => id.toString('hex')).join(', ');
}

function hmac(key: Buffer, ...parts: readonly Uint8Array[]): Buffer {
  const mac = createHmac('sha256', key);
  for (const part of parts) mac.update(part);
  return mac.digest();
}

/** Of the kind, so that no kind and value run together to be those of another. */
function length(bytes: Buffer): Buffer {
  return Buffer.of(bytes.length >> 8, bytes.length & 0xff);
}
