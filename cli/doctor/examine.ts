import { CliError, EXIT, type ExitCode } from '../cli-error.ts';
import { NoAnswerError } from './api.ts';
import type { Check } from './check.ts';
import type { Deployment } from './deployment.ts';
import { type Finding, failed, NotKnownError, skipped } from './finding.ts';

export interface Examined extends Finding {
  readonly id: string;
}

/** All checks at once; what they found comes in their order, each as soon as those before it have come. */
export async function* examine(
  deployment: Deployment,
  checks: readonly Check[],
): AsyncGenerator<Examined, void, undefined> {
  const findings = checks.map(({ id, examine }) => ({ id, finding: findingOf(() => examine(deployment)) }));
  for (const { id, finding } of findings) yield { id, ...(await finding) };
}

/** A check that cannot be made says what it takes; that it broke is a finding like others. */
async function findingOf(examine: () => Promise<Finding>): Promise<Finding> {
  try {
    return await examine();
  } catch (error) {
    if (error instanceof NotKnownError) return skipped(error.message);
    if (error instanceof CliError && error.code === 'forbidden') return skipped(error.message);
    if (error instanceof CliError && error.code === 'schema-outdated')
      return skipped('takes the schema of this release');
    const found = error instanceof Error ? error.message : String(error);
    const isSilent = error instanceof NoAnswerError || error instanceof CliError;
    const remedy = isSilent
      ? 'It answered before and does not now: ask again.'
      : 'This is a fault of the doctor itself: please report it.';
    return failed(found, { remedy, see: 'docs/doctor.md#health' });
  }
}

/** What to exit with: warnings are no failure. */
export function exitCodeOf(findings: readonly Finding[]): ExitCode {
  if (findings.some(({ unreachable }) => unreachable === true)) return EXIT.unreachable;
  return findings.some(({ verdict }) => verdict === 'failed') ? EXIT.failed : EXIT.ok;
}
