import type { Db } from '../functions/queue/db.ts';
import { MillraceError } from '../functions/queue/errors.ts';

/** One name does for all of them: the latest of a name is meant, and they nest. */
export const SET = 'SAVEPOINT millrace';
const RELEASE = 'RELEASE SAVEPOINT millrace';
const GO_BACK = 'ROLLBACK TO SAVEPOINT millrace';

/** The client has no transaction open that could be rolled back, or one in which a statement has failed. */
export class NoTransactionError extends MillraceError {
  static override readonly name: string = 'NoTransactionError';
  readonly code = 'no_transaction';
}

/** @throws NoTransactionError unless a transaction is open on `client`; its `cause` is what Postgres says */
export async function assertTransaction(client: Db): Promise<void> {
  try {
    await client.query(SET);
  } catch (cause) {
    throw new NoTransactionError(
      `a transaction is needed that the test rolls back, but Postgres says: ${String(cause)}. Send BEGIN on this client first, or pass the transaction of your ORM; a pool is none, since each of its statements may take another connection`,
      { cause },
    );
  }
  await client.query(RELEASE);
}

/** Ends the latest savepoint. Resolves false if a statement failed since: then all since is undone, and the rest goes on. */
export async function keep(client: Db): Promise<boolean> {
  try {
    await client.query(RELEASE);
    return true;
  } catch {
    await undo(client);
    return false;
  }
}

/** Goes back to the latest savepoint, and ends it. */
export async function undo(client: Db): Promise<void> {
  await client.query(GO_BACK);
  await client.query(RELEASE);
}
