import type { HttpEvent } from '../lambda/http.ts';
import { ProblemError } from '../lambda/problems.ts';
import { NAME } from '../queue/contract.ts';
import type { PauseScope } from '../queue/pause.ts';

/** The `{name}` of the path. @throws ProblemError for what none of them can be called */
export function nameOf(event: HttpEvent, what: PauseScope): string {
  const name = event.pathParameters?.name ?? '';
  if (NAME.test(name)) return name;
  throw new ProblemError('invalid-name', `The path must hold the name of a ${what}, which matches ${NAME.source}.`);
}
