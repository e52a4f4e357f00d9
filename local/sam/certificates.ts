import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isIPv4 } from 'node:net';
import { bits, integer, octets, oid, sequence, set, TRUE, tagged, utcTime, utf8 } from './der.ts';

/** PEM texts for a server on this machine. */
export interface Certificates {
  /** The authority: whoever trusts it trusts this one server, since its key is gone. */
  readonly ca: string;
  readonly certificate: string;
  readonly key: string;
}

const DAY_MS = 86_400_000;

/**
 * Makes an authority and a certificate that it has signed for a server with these names and IPv4 addresses. The authority's
 * key is thrown away, so nobody can sign another with it. Written out here because Node reads certificates and makes none,
 * and not every machine has openssl.
 *
 * @param days for which both are good, from an hour ago on
 */
export function makeCertificates(names: readonly string[], days = 365): Certificates {
  const from = new Date(Date.now() - 3_600_000);
  const to = new Date(from.getTime() + days * DAY_MS);
  const authority = { name: 'Millrace local authority', keys: generateKeyPairSync('ec', { namedCurve: 'P-256' }) };
  const server = { name: names[0] ?? 'localhost', keys: generateKeyPairSync('ec', { namedCurve: 'P-256' }) };
  const issue = (subject: typeof server, extensions: Buffer[]) =>
    pem('CERTIFICATE', certificate({ issuer: authority, subject, from, to, extensions }));
  return {
    ca: issue(authority, [
      extension('2.5.29.19', sequence(TRUE), { critical: true }),
      // To sign certificates, and nothing else.
      extension('2.5.29.15', bits(Buffer.from([0x04]), 2), { critical: true }),
      extension('2.5.29.14', octets(idOf(authority.keys.publicKey))),
    ]),
    certificate: issue(server, [
      extension('2.5.29.15', bits(Buffer.from([0x80]), 7), { critical: true }),
      // TLS servers.
      extension('2.5.29.37', sequence(oid('1.3.6.1.5.5.7.3.1'))),
      extension('2.5.29.35', sequence(tagged(0, idOf(authority.keys.publicKey), { constructed: false }))),
      extension('2.5.29.17', sequence(...names.map(alternative))),
    ]),
    key: String(server.keys.privateKey.export({ type: 'pkcs8', format: 'pem' })),
  };
}

interface Party {
  readonly name: string;
  readonly keys: { readonly publicKey: KeyObject; readonly privateKey: KeyObject };
}

/** ECDSA with SHA-256. */
const ALGORITHM = sequence(oid('1.2.840.10045.4.3.2'));
const VERSION_3 = tagged(0, integer(Buffer.from([2])));

function certificate(of: { issuer: Party; subject: Party; from: Date; to: Date; extensions: Buffer[] }): Buffer {
  const serial = randomBytes(16);
  serial[0] = 0x40 | ((serial[0] as number) & 0x3f);
  const signed = sequence(
    VERSION_3,
    integer(serial),
    ALGORITHM,
    commonName(of.issuer.name),
    sequence(utcTime(of.from), utcTime(of.to)),
    commonName(of.subject.name),
    of.subject.keys.publicKey.export({ type: 'spki', format: 'der' }),
    tagged(3, sequence(...of.extensions)),
  );
  return sequence(signed, ALGORITHM, bits(sign('sha256', signed, of.issuer.keys.privateKey)));
}

function extension(id: string, value: Buffer, { critical = false } = {}): Buffer {
  return sequence(oid(id), ...(critical ? [TRUE] : []), octets(value));
}

function alternative(name: string): Buffer {
  if (isIPv4(name)) return tagged(7, Buffer.from(name.split('.').map(Number)), { constructed: false });
  return tagged(2, Buffer.from(name), { constructed: false });
}

function commonName(name: string): Buffer {
  return sequence(set(sequence(oid('2.5.4.3'), utf8(name))));
}

/** By which a certificate names the key that signed it. */
function idOf(key: KeyObject): Buffer {
  return createHash('sha1')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest();
}

function pem(what: string, content: Buffer): string {
  const lines = content.toString('base64').match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${what}-----`, ...lines, `-----END ${what}-----`, ''].join('\n');
}
