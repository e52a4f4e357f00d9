import * as z from 'zod';
import { textOf } from './template.ts';

const Arns = z.record(z.string(), z.unknown());

/** Names of the variables that a function fills from secrets, by its environment as the template has it. */
export function secretNames({ WORKER_SECRETS, CONTRACT_SECRETS }: Readonly<Record<string, unknown>>): string[] {
  return [...new Set([...namesIn(WORKER_SECRETS), ...namesIn(CONTRACT_SECRETS)])];
}

function namesIn(secrets: unknown): string[] {
  // Of the ARNs only AWS knows what they are, and here they do not matter.
  const text = textOf(secrets, () => 'unknown');
  try {
    return Object.keys(Arns.parse(JSON.parse(text ?? '{}')));
  } catch {
    return [];
  }
}
