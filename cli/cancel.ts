import type { Command } from 'commander';
import { jobIds } from './job-ids.ts';
import { type TargetOptions, withTarget } from './target-options.ts';

export function cancel(program: Command): void {
  withTarget(program.command('cancel'), { acts: true })
    .argument('<id...>', 'of the jobs', jobIds)
    .option('--json', 'print a JSON object for each job')
    .addHelpText('after', HELP)
    .action(async (ids: readonly string[], { json, ...target }: TargetOptions & { json?: boolean }) => {
      const { withQueue } = await import('./queue.ts');
      const { eachId } = await import('./each-id.ts');
      await withQueue(target, (queue) =>
        eachId(ids, { json, done: 'cancelled' }, async (id) =>
          (await queue.cancel(id)).status === 'cancelled' ? 'cancelled' : 'cancel-requested',
        ),
      );
    });
}

const HELP = `
A pending job is cancelled at once. One that runs is cancel-requested: the signal of its processor fires within about a
second, and it ends as cancelled unless it completes first. Jobs that have ended are refused, with exit code 3.

Examples:
  npx millrace cancel 0196a3c8-1d6e-7d2b-8f0a-3f5a9f6b2c11
  npx millrace list --status pending --kind report.build --json | jq -r '.jobs[].id' | xargs npx millrace cancel`;
