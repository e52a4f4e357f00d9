import { EXIT } from './cli-error.ts';
import { terminal } from './terminal.ts';

/**
 * Ends the process when whoever reads its output goes (`millrace list | head`), and at Ctrl-C, without a word. Output that is
 * lost (a full disk) is no success.
 */
export function endQuietly(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(EXIT.ok);
    terminal.say(`The output cannot be written: ${error.message}`);
    process.exit(EXIT.failed);
  });
  // Nobody hears the words; what is done, and the exit code, are as they would have been.
  process.stderr.on('error', () => {});
  process.on('SIGINT', () => {
    // A command that has something to finish first listens itself, and then it is for it to end.
    if (process.listenerCount('SIGINT') === 1) process.exit(EXIT.interrupted);
  });
}
