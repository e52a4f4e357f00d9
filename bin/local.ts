/** `npm start`: the whole of Millrace on this machine, as `npx millrace dev` in other projects. */
import { devCommand } from '../cli/dev/command.ts';

try {
  await devCommand({}, 'npx node bin/millrace.ts');
} catch (error) {
  console.error(process.env.LOG_LEVEL === 'debug' ? (error as Error).stack : (error as Error).message);
  process.exitCode = 1;
}
