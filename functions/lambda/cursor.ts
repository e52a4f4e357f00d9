import { createHash } from 'node:crypto';
import type { JobId } from '../queue/job.ts';

/** First byte of a cursor. A change of its layout or of what a page is takes the next number. */
const VERSION = 2;
const ID_BYTES = 16;
const CHECK_BYTES = 8;

/**
 * Where the next page of a listing begins, as opaque text: version, id, and a hash over both and the listing's filters.
 * The hash tells a mistyped cursor, or one of another listing; it is no secret, for a cursor gives no rights.
 */
export function encodeCursor(id: JobId, filters: readonly unknown[]): string {
  const head = Buffer.concat([Buffer.of(VERSION), Buffer.from(id.replaceAll('-', ''), 'hex')]);
  return Buffer.concat([head, check(head, filters)]).toString('base64url');
}

/** Undefined if no listing with these filters gave it out. */
export function decodeCursor(cursor: string, filters: readonly unknown[]): JobId | undefined {
  const bytes = Buffer.from(cursor, 'base64url');
  // Buffer leaves out what is not base64url: what it read must read as what was sent.
  if (bytes.toString('base64url') !== cursor || bytes.length !== 1 + ID_BYTES + CHECK_BYTES) return undefined;
  const head = bytes.subarray(0, 1 + ID_BYTES);
  if (head[0] !== VERSION || !check(head, filters).equals(bytes.subarray(1 + ID_BYTES))) return undefined;
  return head.toString('hex', 1).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

function check(head: Buffer, filters: readonly unknown[]): Buffer {
  return createHash('sha256').update(head).update(JSON.stringify(filters)).digest().subarray(0, CHECK_BYTES);
}
