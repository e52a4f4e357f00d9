import { type Command, Option } from 'commander';
import { actorArgument, givenArgument } from './arguments.ts';

/** Which queue a command is about, as its options say it; target.ts reads the rest from the environment. */
export interface TargetOptions {
  readonly url?: string | undefined;
  readonly tokenFile?: string | undefined;
  /** By MILLRACE_URL, though DATABASE_URL is set too. */
  readonly http?: boolean | undefined;
  readonly databaseUrl?: string | undefined;
  /** By DATABASE_URL, though MILLRACE_URL is set too. */
  readonly sql?: boolean | undefined;
  /** Who acts, as operator_log names them. Over HTTP it is the name of the token. */
  readonly as?: string | undefined;
}

export const TARGET_HEADING = 'Which queue (default: the one that runs here):';

/** Adds the options that say which queue, in the same words everywhere. `acts`: it leaves a row in operator_log. */
export function withTarget(command: Command, { acts = false } = {}): Command {
  const options = [
    new Option('--url <url>', 'where the API is; default MILLRACE_URL. Its token is MILLRACE_TOKEN').argParser(
      givenArgument,
    ),
    new Option('--token-file <file>', 'holds the token, in place of MILLRACE_TOKEN').argParser(givenArgument),
    new Option(
      '--database-url <url>',
      'straight to Postgres; default DATABASE_URL, DATABASE_SECRET_ARN or DATABASE_USER',
    ).argParser(givenArgument),
    new Option('--http', 'take MILLRACE_URL if both are set'),
    new Option('--sql', 'take the database if both are set'),
  ];
  if (acts) {
    const as = new Option('--as <name>', 'who acts, for operator_log; over SQL only. Default cli:<your login>');
    options.push(as.argParser(actorArgument));
  }
  for (const option of options) command.addOption(option.helpGroup(TARGET_HEADING));
  return command;
}
