import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';
import { ConfigurationError } from './configuration-error.ts';

/** As Postgres counts by default; more makes each login dearer, and a password of 256 random bits no safer. */
const ITERATIONS = 4096;

/**
 * What Postgres keeps of a password (RFC 5802, SCRAM-SHA-256): given to it in place of the password, so that the password is in
 * no statement and no log of the server.
 * @throws ConfigurationError for characters that would have to be normalized first (RFC 4013)
 */
export function scramVerifier(password: string, salt = randomBytes(16)): string {
  if (!/^[\x20-\x7e]+$/.test(password)) {
    throw new ConfigurationError(
      'a password for the database must be of printable ASCII characters, and of one at least',
    );
  }
  const salted = pbkdf2Sync(password, salt, ITERATIONS, 32, 'sha256');
  const keyed = (text: string) => createHmac('sha256', salted).update(text).digest();
  const storedKey = createHash('sha256').update(keyed('Client Key')).digest('base64');
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString('base64')}$${storedKey}:${keyed('Server Key').toString('base64')}`;
}
