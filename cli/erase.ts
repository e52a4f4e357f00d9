import type { Command } from 'commander';
import { jobIds } from './job-ids.ts';
import { type TargetOptions, withTarget } from './target-options.ts';

export function erase(program: Command): void {
  withTarget(program.command('erase'), { acts: true })
    .argument('<id...>', 'of the jobs', jobIds)
    .option('--yes', 'do not ask')
    .option('--json', 'print a JSON object for each job')
    .addHelpText('after', HELP)
    .action(
      async (ids: readonly string[], { json, yes, ...target }: TargetOptions & { json?: boolean; yes?: boolean }) => {
        const { withQueue } = await import('./queue.ts');
        const { confirm } = await import('./confirm.ts');
        const { eachId } = await import('./each-id.ts');
        await withQueue(target, async (queue) => {
          const jobs = ids.length === 1 ? `the job ${ids[0]}` : `${ids.length} jobs`;
          await confirm(`Erase ${jobs} of ${queue.where} with payload, result and errors, for good?`, yes);
          await eachId(ids, { json, done: 'erased' }, async (id) => {
            await queue.erase(id);
            return 'erased';
          });
        });
      },
    );
}

const HELP = `
Takes completed, cancelled and dead jobs; one that has not ended is refused, with exit code 3: cancel it first. The row of
operator_log that it leaves holds the id and who did it, and nothing of what was erased.

Example:
  npx millrace erase 0196a3c8-1d6e-7d2b-8f0a-3f5a9f6b2c11 --yes`;
