import { type Command, InvalidArgumentError, Option } from 'commander';
import { ROLES } from '../functions/lambda/role.ts';
import { TOKEN_NAME } from '../functions/lambda/tokens.ts';
import { givenArgument } from './arguments.ts';
import { wholeNumber } from './whole-number.ts';

/** Where the local runtime looks for them. */
const FILE = '.millrace/tokens.json';
const MAX_DAYS = 3650;

export function token(program: Command): void {
  const command = program.command('token').helpCommand(false).addHelpText('after', HELP);

  const make = command.command('create').description('make a token and print it, once: its hash alone is kept');
  make
    .requiredOption('--name <name>', 'whose it is; the logs name them', tokenName)
    .addOption(new Option('--role <role>', 'what it may do').choices(ROLES).makeOptionMandatory())
    .option('--days <days>', 'until it ends', wholeNumber(1, MAX_DAYS), 90);
  kept(
    make,
    'export MILLRACE_TOKEN="$(npx millrace token create --name me --role operator --secret "$TOKENS_SECRET_ARN")"',
  ).action(async (options) => (await import('./token/command.ts')).create(options));

  const look = command.command('list').description('names, roles and ends of the tokens');
  kept(look, 'npx millrace token list --secret "$TOKENS_SECRET_ARN"').action(async (options) =>
    (await import('./token/command.ts')).list(options),
  );

  const end = command.command('revoke').description('take a token out: within a minute it opens nothing any more');
  end.requiredOption('--name <name>', 'whose it was', tokenName);
  kept(end, 'npx millrace token revoke --name ci --secret "$TOKENS_SECRET_ARN"').action(async (options) =>
    (await import('./token/command.ts')).revoke(options),
  );
}

/** The options that say where tokens are kept. */
function kept(command: Command, example: string): Command {
  return command
    .addOption(new Option('--file <file>', 'of a local runtime').default(FILE).argParser(givenArgument))
    .addOption(
      new Option('--secret <arn>', 'of a deployment: ARN or name of its secret, TokensSecretArn')
        .argParser(givenArgument)
        .conflicts('file'),
    )
    .option('--region <region>', 'of the secret. Default: as the ARN or AWS_REGION says')
    .option('--json', 'print JSON')
    .addHelpText('after', `\nExample:\n  ${example}`);
}

function tokenName(text: string): string {
  if (TOKEN_NAME.test(text)) return text;
  throw new InvalidArgumentError('It takes up to 100 of letters, digits and . _ : / + = @ -');
}

const HELP = `
Roles: producer enqueues and sees how jobs are, reader sees payloads and results too, operator may do all.

A deployment keeps the hashes in a secret of AWS Secrets Manager, which the stack names as TokensSecretArn; --secret changes
it with the credentials that AWS's own tools take in this shell. It needs npm install --no-save @aws-sdk/client-secrets-manager.

Examples:
  npx millrace token create --name ci --role producer
  npx millrace token create --name ci --role producer --days 365 --secret "$TOKENS_SECRET_ARN"
  npx millrace token list --json
  npx millrace token revoke --name ci`;
