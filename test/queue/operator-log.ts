import { randomUUID } from 'node:crypto';
import type { Db } from '../../functions/queue/db.ts';
import type { Operator } from '../../functions/queue/operator.ts';

/** An operator with a request of its own. */
export const operator = (requestId: string = randomUUID()): Operator => ({ actor: 'ada', requestId });

/** What the log holds, in order. */
export async function logged(db: Db): Promise<Record<string, unknown>[]> {
  const { rows } = await db.query<Record<string, unknown>>(
    `SELECT actor, action, target, count, request_id AS "requestId" FROM millrace.operator_log ORDER BY id`,
  );
  return rows;
}

/** As if `minutes` had gone by since all that is in the log. */
export async function ageLog(db: Db, minutes: number): Promise<void> {
  await db.query('UPDATE millrace.operator_log SET at = at - make_interval(mins => $1)', [minutes]);
}

/** Who acts without an operator. */
export async function sessionUser(db: Db): Promise<string> {
  return (await db.query<{ name: string }>('SELECT session_user AS name')).rows[0]?.name as string;
}
