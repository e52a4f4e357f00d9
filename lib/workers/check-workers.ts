import { Annotations } from 'aws-cdk-lib';
import type { IConstruct } from 'constructs';
import type { Contracts } from '../../functions/queue/contract.ts';
import type { WorkerProps } from '../job-queue-props.ts';

/** The worker that is always there. */
export const DEFAULT_WORKER = 'default';

/** The queue of jobs that name none, and what a queue may be called: the engine's own, which a test holds equal. */
export const DEFAULT_QUEUE = 'default';
export const QUEUE_NAME = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$/;

/** Endings would make construct ids that `Work…` has already: of its schedules, its log, its role. */
const WORKER_NAME = /^(?!.*(schedule\d*|logs|role)$)[a-z][a-z0-9]{0,39}$/i;

/** @throws Error that names the worker whose name or queues cannot be, or are another's */
export function checkWorkers(main: WorkerProps, others: Readonly<Record<string, WorkerProps>>): void {
  checkNames(Object.keys(others));
  checkQueues(main, others);
}

function checkNames(names: readonly string[]): void {
  for (const [at, name] of names.entries()) {
    if (!WORKER_NAME.test(name)) {
      throw new Error(
        `workers: a name must be at most 40 letters and digits that begin with a letter and do not end in "schedule", "logs" or "role", not "${name}": give the worker another name.`,
      );
    }
    const twin = names.slice(0, at).find((other) => other.toLowerCase() === name.toLowerCase());
    if (twin !== undefined || name.toLowerCase() === DEFAULT_WORKER) {
      throw new Error(
        `workers: names must differ in more than capital letters, and "${name}" is like "${twin ?? DEFAULT_WORKER}": give one of them another name.`,
      );
    }
  }
}

function checkQueues(main: WorkerProps, others: Readonly<Record<string, WorkerProps>>): void {
  const servedBy = new Map([[DEFAULT_QUEUE, DEFAULT_WORKER]]);
  for (const [name, { queues }] of Object.entries(others)) {
    if (queues === undefined || queues.length === 0) {
      throw new Error(
        `workers.${name}.queues must name at least one queue: it serves no others, and the worker "${DEFAULT_WORKER}" serves what is left.`,
      );
    }
  }
  for (const [name, { queues = [] }] of Object.entries({ ...others, [DEFAULT_WORKER]: main })) {
    for (const queue of queues) {
      if (!QUEUE_NAME.test(queue)) {
        throw new Error(`workers.${name}.queues: a queue must match ${QUEUE_NAME.source}, not "${queue}": name it so.`);
      }
      const other = servedBy.get(queue);
      if (other !== undefined && !(other === name && queue === DEFAULT_QUEUE)) {
        throw new Error(
          `workers.${name}.queues: the queue "${queue}" must have one worker, and "${other}" serves it already: leave it out of one of them.`,
        );
      }
      servedBy.set(queue, name);
    }
  }
}

/** Says at synth which queues no contract names: jobs may name them, or they are misspelt and another worker has the jobs. */
export function warnOfUnknownQueues(
  scope: IConstruct,
  workers: Readonly<Record<string, WorkerProps>>,
  contracts: Contracts,
): void {
  const known = new Set([DEFAULT_QUEUE, ...Object.values(contracts).map(({ queue }) => queue)]);
  for (const [name, { queues = [] }] of Object.entries(workers)) {
    const unknown = queues.filter((queue) => !known.has(queue));
    if (unknown.length === 0) continue;
    Annotations.of(scope).addWarningV2(
      'millrace:queues',
      `workers.${name}.queues: no contract names ${quoted(unknown)}; the queues of contracts are ${quoted([...known])}. ` +
        'Correct it, or acknowledge this if jobs name such a queue themselves.',
    );
  }
}

function quoted(queues: readonly string[]): string {
  return queues.map((queue) => `"${queue}"`).join(', ');
}
