import { Annotations } from 'aws-cdk-lib';
import type { IConstruct } from 'constructs';

/** Connections that Postgres keeps for superusers, and that a person looking after it needs. */
const RESERVE = 3;
const TICK_SECONDS = 60;

export interface ConnectionUsers {
  /** Requests that the API lets in at once: each may open a connection. @default - no API */
  readonly apiBurst?: number | undefined;
  /** Whether requests start workers that are not there: one of each at once. @default false */
  readonly wakes?: boolean | undefined;
  readonly workers: readonly WorkerConnections[];
  /** Whether deploys migrate. */
  readonly migrates: boolean;
  /** Whether the login's password is changed. */
  readonly rotates: boolean;
  /** What the server takes at once. @default - unknown */
  readonly maxConnections?: number | undefined;
}

export interface WorkerConnections {
  readonly name: string;
  /** How many start each minute. */
  readonly max: number;
  /** How long a run takes at most: longer ones overlap the next minute's. */
  readonly timeoutSeconds: number;
  /** Connections beside the one that claims and settles. */
  readonly transactions: number;
}

export interface ConnectionEstimate {
  /** Connections at once, at worst. */
  readonly total: number;
  /** @default - unknown */
  readonly maxConnections: number | undefined;
  /** Undefined if it is unknown what the server takes. */
  readonly fits: boolean | undefined;
  /** The sum spelled out. */
  readonly sentence: string;
}

/** How many connections a queue may hold at once, against what its database takes. */
export function connectionEstimate(users: ConnectionUsers): ConnectionEstimate {
  const { maxConnections } = users;
  const terms = termsOf(users).filter(([connections]) => connections > 0);
  const total = sum(terms.map(([connections]) => connections));
  const spelled = terms.map(([connections, what]) => `${connections} ${what}`).join(' + ');
  const limit = maxConnections === undefined ? 'an unknown number' : `about ${maxConnections}`;
  return {
    total,
    maxConnections,
    fits: maxConnections === undefined ? undefined : total <= maxConnections,
    sentence: `Up to ${total} connections at once (${spelled}); the database takes ${limit}.`,
  };
}

function termsOf({
  apiBurst = 0,
  wakes = false,
  workers,
  migrates,
  rotates,
}: ConnectionUsers): [connections: number, what: string][] {
  return [
    [apiBurst, apiBurst === 1 ? 'API request' : 'API requests'],
    [wakes ? sum(workers.map(({ transactions }) => 1 + transactions)) : 0, 'of workers that they wake'],
    ...workers.map((worker): [number, string] => [
      connectionsOf(worker),
      `of worker ${worker.name} ${explain(worker)}`,
    ]),
    [1, 'reaper'],
    [Number(migrates), 'migration'],
    [Number(rotates), 'rotation'],
    [RESERVE, 'reserve'],
  ];
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}

function connectionsOf({ max, timeoutSeconds, transactions }: WorkerConnections): number {
  return max * overlapping(timeoutSeconds) * (1 + transactions);
}

function overlapping(timeoutSeconds: number): number {
  return Math.ceil(timeoutSeconds / TICK_SECONDS);
}

function explain({ max, timeoutSeconds, transactions }: WorkerConnections): string {
  return `(${max} a minute × ${overlapping(timeoutSeconds)} overlapping × ${1 + transactions} each)`;
}

/** Says at synth that the connections may not be enough. */
export function warnOfConnections(scope: IConstruct, { fits, sentence }: ConnectionEstimate): void {
  if (fits !== false) return;
  Annotations.of(scope).addWarningV2(
    'millrace:connections',
    `${sentence} What comes too late gets a 503, or waits for the next tick. Take a larger instance, let fewer requests in at ` +
      'once (advanced.throttle), or lower max, timeout or transactions of a worker.',
  );
}
