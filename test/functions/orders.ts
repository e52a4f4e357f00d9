import type { QueryResultRow } from 'pg';
import type { Answer, Db } from '../../functions/queue/db.ts';

/** Somebody who sends statements, one after the other. */
export interface Party {
  readonly name: string;
  /** What it does on the connection that it is given. It may end early when `over` aborts: nobody looks any more. */
  act(db: Db, over: AbortSignal): Promise<void>;
}

interface Actor extends Party {
  /** The statement that it waits to send. */
  waiting: { readonly text: string; readonly values: string; send(): void } | undefined;
  done: boolean;
  /** What it sent last, and was answered. */
  last: string;
}

/** Lets another party join in the middle. */
export type Join = (party: Party) => void;

/** What is asked of a scenario at its end, and how it looks in between. */
export interface Scene {
  /** Who is there from the beginning. */
  readonly parties: readonly Party[];
  /** Whose the first statements are, before it is anybody's turn. */
  readonly lead: readonly string[];
  /** Statements that others can tell the order of; the rest are sent as they come. */
  readonly matters: RegExp;
  /**
   * Whether nobody's turn is to come between these two, the last that somebody has sent and the next: where whatever may come there has
   * the same effect before the one or after the other. Default: never.
   */
  readonly atOnce?: ((sent: string, next: string) => boolean) | undefined;
  /** What of an answer its sender can tell; times are none of it. */
  seen(text: string, rows: QueryResultRow[]): unknown;
  /** What the tables hold, without times, as text. */
  state(db: Db): Promise<string>;
  /** After each order: throws if it went wrong. */
  end(db: Db): Promise<void>;
}

const UUID = /[0-9a-f]{8}-[0-9a-f-]{27}/g;

/** Where it stands: what it does next follows from the answer that it had last, and from what it is about to send. */
function standing({ name, last, waiting }: Actor): string {
  return [name, last, waiting?.text, waiting?.values].join(' ');
}

/**
 * Carries out what the parties do in every order of their statements, each on a connection of its own. Each order begins anew, with
 * `make`, goes on with the choices of its prefix, and from then on with the first who can; at each choice the others come later.
 * Where the tables and all that the parties have seen are as they were before, what follows is known, and is left out.
 * Resolves how many orders there were, and statements chosen.
 */
export async function everyOrder(
  dbs: readonly Db[],
  observer: Db,
  make: (join: Join) => Promise<Scene>,
): Promise<{ orders: number; states: number }> {
  const known = new Set<string>();
  const prefixes: number[][] = [[]];
  let orders = 0;
  for (let prefix = prefixes.pop(); prefix !== undefined; prefix = prefixes.pop()) {
    orders++;
    await oneOrder(prefix);
  }
  return { orders, states: known.size };

  async function oneOrder(prefix: readonly number[]): Promise<void> {
    const actors: Actor[] = [];
    const failures: unknown[] = [];
    const told: string[] = [];
    /** Tokens are new each time: whoever was the first to send one has made it. */
    const owners = new Map<string, string>();
    const named = (text: string) => text.replace(UUID, (id) => owners.get(id) ?? '');
    const ends: Promise<void>[] = [];
    const over = new AbortController();
    let moved = () => {};
    const join = (party: Party) => {
      const actor: Actor = { ...party, act: party.act.bind(party), waiting: undefined, done: false, last: '' };
      const db = dbs[actors.push(actor) - 1];
      if (db === undefined) throw new Error(`${dbs.length} connections are not enough: ${told.join('; ')}`);
      const end = actor.act(gated(actor, db), over.signal).catch((error: unknown) => void failures.push(error));
      ends.push(
        end.finally(() => {
          actor.done = true;
          moved();
        }),
      );
    };
    const scene = await make(join);
    for (const party of scene.parties) join(party);

    function gated(actor: Actor, db: Db): Db {
      return {
        async query<Row extends QueryResultRow>(text: string, values?: unknown[]): Promise<Answer<Row>> {
          if (over.signal.aborted || !scene.matters.test(text)) return db.query<Row>(text, values);
          const tokens = (values ?? []).flatMap((value) => String(value ?? '').match(UUID) ?? []);
          for (const id of tokens) if (!owners.has(id)) owners.set(id, actor.name);
          if (!scene.atOnce?.(actor.last, text)) {
            await new Promise<void>((resolve) => {
              actor.waiting = { text, values: tokens.join(), send: resolve };
              moved();
            });
          }
          const answer = await db.query<Row>(text, values);
          actor.last = text + JSON.stringify(scene.seen(text, answer.rows));
          return answer;
        },
      };
    }
    /** Until everybody waits or is done: what they do between two statements is nobody else's to see. */
    async function settled(): Promise<void> {
      while (actors.some(({ waiting, done }) => waiting === undefined && !done)) {
        await new Promise<void>((resolve) => {
          moved = resolve;
        });
      }
    }

    const taken: number[] = [];
    for (;;) {
      await settled();
      if (failures.length > 0) throw new Error(`after ${told.join('; ')}`, { cause: failures[0] });
      const ready = actors.filter(({ waiting }) => waiting !== undefined);
      if (ready.length === 0) break;
      const led = ready.findIndex(({ name }) => name === scene.lead[taken.length]);
      if (led < 0 && taken.length >= prefix.length) {
        const where = [await scene.state(observer), ...ready.map(standing).sort()].map(named).join('\n');
        if (known.has(where)) return await abandon();
        known.add(where);
        for (let other = 1; other < ready.length; other++) prefixes.push([...taken, other]);
      }
      const choice = led < 0 ? (prefix[taken.length] ?? 0) : led;
      // A run asks by the clock, so one may have ended that was there when the prefix was made.
      const actor = (ready[choice] ?? ready.at(-1)) as Actor;
      told.push(`${actor.name}: ${/\w[^\n]*/.exec(actor.waiting?.text ?? '')?.[0]}`);
      taken.push(choice);
      const { send } = actor.waiting as NonNullable<Actor['waiting']>;
      actor.waiting = undefined;
      send();
    }
    try {
      await scene.end(observer);
    } catch (error) {
      throw new Error(`after ${told.join('; ')}`, { cause: error });
    }

    /** What is to come is known: they go on as they like. */
    async function abandon(): Promise<void> {
      over.abort();
      for (const { waiting } of actors) waiting?.send();
      while (actors.some(({ done }) => !done)) await Promise.all(ends);
    }
  }
}
