import type * as z from 'zod';
import { type Flaw, MAX_FLAWS, pointerTo } from '../queue/flaws.ts';
import { flawsOfIssues } from '../queue/zod-flaws.ts';
import type { HttpEvent } from './http.ts';
import { ProblemError } from './problems.ts';

/**
 * The query of a request, checked by a schema. Read from its raw text: in `queryStringParameters` the gateway has joined
 * a parameter that came twice with a comma, and no one could tell it from one with a comma in it.
 * @throws ProblemError naming each parameter that is not known, came twice or has a wrong value
 */
export function queryOf<Schema extends z.ZodObject>(event: HttpEvent, schema: Schema): z.output<Schema> {
  const params = new URLSearchParams(event.rawQueryString);
  const names = [...new Set(params.keys())];
  const twice: Flaw[] = names
    .filter((name) => params.getAll(name).length > 1)
    .map((name) => ({ pointer: pointerTo([name]), detail: 'came more than once; send it once' }));
  // Without a prototype, so that a parameter may be called __proto__, and is then one that nobody knows.
  const parsed = schema.safeParse(Object.assign(Object.create(null), Object.fromEntries(params)));
  const known = Object.keys(schema.shape);
  const flaws = [...twice, ...flawsOfIssues(parsed.error?.issues ?? [], { known, noun: 'parameter' })];
  if (!parsed.success || flaws.length > 0) {
    throw new ProblemError('invalid-query', 'Look at errors: each names a parameter of the query.', {
      flaws: flaws.slice(0, MAX_FLAWS),
    });
  }
  return parsed.data;
}
