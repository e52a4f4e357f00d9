import pg from 'pg';
import type { Connect } from '../../../functions/queue/run.ts';
import type { Statement } from '../database.ts';

/** What a statement took, as the worker saw it. */
export interface Timed {
  readonly statement: Statement;
  readonly rows: number;
  readonly ms: number;
}

/** Connections whose statements are counted and timed, other than those of the jobs' transactions. */
export class Watched {
  readonly timed: Timed[] = [];
  connected = 0;
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  readonly connect: Connect = async () => {
    const client = new pg.Client({ connectionString: this.#url });
    await client.connect();
    this.connected++;
    const query = client.query.bind(client) as (...args: unknown[]) => Promise<pg.QueryResult>;
    const watched = async (...args: unknown[]) => {
      const startedAt = performance.now();
      const answer = await query(...args);
      const [first] = args;
      const text = typeof first === 'string' ? first : (first as { text: string }).text;
      this.timed.push({ statement: statementOf(text), rows: answer.rows.length, ms: performance.now() - startedAt });
      return answer;
    };
    return Object.assign(client, { query: watched });
  };

  of(...statements: readonly Statement[]): Timed[] {
    return this.timed.filter(({ statement }) => statements.includes(statement));
  }
}

function statementOf(text: string): Statement {
  if (/millrace\.claim\(/.test(text)) return 'claim';
  if (/millrace\.see_start\(/.test(text)) return 'look';
  if (/millrace\.slots/.test(text)) return /INSERT/.test(text) ? 'take' : 'presence';
  if (/claim_marks/.test(text)) return 'marks';
  return /finished_jobs|dead_jobs|'pending'/.test(text) ? 'settle' : 'watch';
}
