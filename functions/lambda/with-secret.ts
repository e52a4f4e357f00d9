import { setTimeout as sleep } from 'node:timers/promises';
import { sqlState } from '../queue/postgres-error.ts';
import type { Credentials, ReadSecret, Stage } from './secret.ts';

/** Milliseconds. A rotation moves AWSCURRENT within about that time of changing the password. */
const ROTATION_PAUSE_MS = 2000;

/** What to try when the server refuses a login: the secret may have been rotated, or be in the middle of it. */
const AGAIN: readonly { stage: Stage; afterMs: number }[] = [
  { stage: 'AWSCURRENT', afterMs: 0 },
  { stage: 'AWSPENDING', afterMs: 0 },
  { stage: 'AWSCURRENT', afterMs: ROTATION_PAUSE_MS },
];

/** Connects with the credentials of a secret: read once, and again when the server refuses them. */
export function withSecret<Connection>(
  read: ReadSecret,
  connect: (credentials: Credentials) => Promise<Connection>,
): () => Promise<Connection> {
  let known: Credentials | undefined;
  return async () => {
    known ??= await read('AWSCURRENT');
    try {
      return await connect(known as Credentials);
    } catch (error) {
      let refusal = error;
      for (const { stage, afterMs } of AGAIN) {
        if (!isRefusedLogin(refusal)) break;
        await sleep(afterMs);
        const credentials = await read(stage);
        if (credentials === undefined) continue;
        try {
          const connection = await connect(credentials);
          known = credentials;
          return connection;
        } catch (next) {
          refusal = next;
        }
      }
      throw refusal;
    }
  };
}

/** 28P01: wrong password. 28000: no such role any more, or what RDS Proxy says of credentials it does not know. */
export function isRefusedLogin(error: unknown): boolean {
  return ['28P01', '28000'].includes(sqlState(error) ?? '');
}
