import type { Answer, Db, QueryRow } from './db.ts';

/** One connection for several parties: a statement begins when the one before it is answered, in the order in which they came. */
export function inTurn(db: Db): Db {
  let last: Promise<unknown> = Promise.resolve();
  return {
    query: <Row extends QueryRow>(text: string, values?: unknown[]): Promise<Answer<Row>> => {
      const answer = last.then(() => db.query<Row>(text, values));
      last = answer.catch(() => {});
      return answer;
    },
  };
}
