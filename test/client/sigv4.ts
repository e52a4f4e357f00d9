import { createHash, createHmac } from 'node:crypto';
import type { Seen } from './server.ts';

const hash = (text: string) => createHash('sha256').update(text).digest('hex');
const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();
/** Percent-encoding as SigV4 wants it: all but unreserved characters. */
const encoded = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);

const pairEncoded = (pair: string) =>
  pair
    .split('=')
    .map((part) => encoded(decodeURIComponent(part)))
    .join('=');

/**
 * The signature that AWS would expect of this request (Signature Version 4, as its reference describes it): computed
 * from what arrived, so that whatever a client changes behind the signer's back shows.
 */
export function expectedSignature({ method, target, headers, text }: Seen, secretKey: string): string {
  const authorization = String(headers.authorization);
  const [, date = '', region = '', service = ''] =
    /Credential=[^/]+\/(\d+)\/([^/]+)\/([^/]+)\//.exec(authorization) ?? [];
  const [, signedHeaders = ''] = /SignedHeaders=([^,\s]+)/.exec(authorization) ?? [];
  const [path = '', query = ''] = target.split('?');
  const canonical = [
    method,
    path.split('/').map(encoded).join('/'),
    query.split('&').map(pairEncoded).sort().join('&'),
    ...signedHeaders.split(';').map((name) => `${name}:${String(headers[name]).trim().replace(/ +/g, ' ')}`),
    '',
    signedHeaders,
    hash(text),
  ].join('\n');
  const scope = `${date}/${region}/${service}/aws4_request`;
  const toSign = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, hash(canonical)].join('\n');
  const key = [date, region, service, 'aws4_request'].reduce<string | Buffer>(hmac, `AWS4${secretKey}`);
  return hmac(key, toSign).toString('hex');
}

export function signatureOf({ headers }: Seen): string | undefined {
  return /Signature=([0-9a-f]{64})$/.exec(String(headers.authorization))?.[1];
}
