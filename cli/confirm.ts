import { createInterface } from 'node:readline';
import { CliError, EXIT } from './cli-error.ts';
import { terminal } from './terminal.ts';

interface Person {
  readonly canAsk: boolean;
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
}

/** Asks before what cannot be undone, unless `yes` says so already. @throws CliError for a no, or if nobody can be asked */
export async function confirm(
  question: string,
  yes: boolean | undefined,
  person: Person = { canAsk: terminal.canAsk, input: process.stdin, output: process.stderr },
): Promise<void> {
  if (yes) return;
  if (!person.canAsk) throw new CliError(`${question} Nobody can be asked here: add --yes.`, EXIT.usage);
  const answer = await ask(`${question} [y/N] `, person);
  if (/^y(es)?$/i.test(answer?.trim() ?? '')) return;
  throw new CliError('Nothing was done.', answer === undefined ? EXIT.interrupted : EXIT.failed);
}

/** Resolves undefined for Ctrl-C and Ctrl-D. */
async function ask(question: string, { input, output }: Person): Promise<string | undefined> {
  const lines = createInterface({ input, output });
  try {
    const answer = await new Promise<string | undefined>((resolve) => {
      lines.once('close', () => resolve(undefined));
      lines.question(question, resolve);
    });
    // Neither ends the line of the question.
    if (answer === undefined) output.write('\n');
    return answer;
  } finally {
    lines.close();
  }
}
