import type { ProblemName } from '../functions/lambda/problems.ts';
import type { RouteKey } from '../functions/lambda/routes.ts';
import type { AnswerName } from './answers.ts';
import { enqueueOperations } from './operations/enqueue.ts';
import { observeOperations } from './operations/observe.ts';
import { operateOperations } from './operations/operate.ts';
import { readOperations } from './operations/read.ts';
import { scheduleOperations } from './operations/schedules.ts';
import type { RequestName } from './requests.ts';

/** What the document says of a route; who may use it stands in functions/lambda/routes.ts. */
export interface Operation {
  readonly id: string;
  readonly tag: 'enqueue' | 'read' | 'operate' | 'observe';
  readonly summary: string;
  readonly description: string;
  /** Names in `PARAMETERS`. Those of the path and of every request are not named. */
  readonly parameters?: readonly string[];
  readonly body?: Body;
  readonly answers: readonly Answer[];
  /** Those that come of this request. Those of every request (roles, gateway) and of the database are added. */
  readonly problems?: readonly ProblemName[];
  /** Whether it asks the database, and so can fail with it. */
  readonly database: boolean;
}

export interface Body {
  readonly schema: RequestName;
  /** By name; the tests send each one. */
  readonly examples: Readonly<Record<string, { readonly summary: string; readonly value: unknown }>>;
}

export interface Answer {
  readonly status: 200 | 201 | 202 | 204;
  readonly description: string;
  /** More than one: any of them. None: no body. `text` and `json` have no schema of ours. */
  readonly schema?: AnswerName | readonly AnswerName[] | 'text' | 'json';
  /** Names in `HEADERS`, beside those of every answer. */
  readonly headers?: readonly string[];
  /** The cases of it: what test/contract was answered in each is recorded in openapi/examples. None: too long to show. */
  readonly examples?: readonly string[];
}

export const OPERATIONS: Readonly<Record<RouteKey, Operation>> = {
  ...enqueueOperations,
  ...readOperations,
  ...operateOperations,
  ...scheduleOperations,
  ...observeOperations,
};
