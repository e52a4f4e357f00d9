import * as z from 'zod';
import { textOf } from './template.ts';

const Arns = z.record(z.string(), z.unknown());

/** Names of the variables that a worker fills from secrets: those of WORKER_SECRETS, as the template has it. */
export function secretNames(workerSecrets: unknown): string[] {
  // Of the ARNs only AWS knows what they are, and here they do not matter.
  const text = textOf(workerSecrets, () => 'unknown');
  try {
    return Object.keys(Arns.parse(JSON.parse(text ?? '{}')));
  } catch {
    return [];
  }
}
