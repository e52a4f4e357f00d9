/** `npm run token -- create --name ci --role producer`, `list`, `revoke --name ci`: the tokens that open the API. */
import { tokenCommand } from '../local/token-command.ts';

try {
  await tokenCommand(process.argv.slice(2), { show: console.log, say: console.error });
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
