import type { RedriveFilter } from '../../client/redrive.ts';
import type { TargetOptions } from '../target-options.ts';

export interface RedriveOptions extends TargetOptions {
  readonly kind?: string;
  readonly error?: string;
  readonly deadAfter?: Date;
  readonly deadBefore?: Date;
  readonly all?: boolean;
  readonly limit?: number;
  readonly after?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

/** Which dead jobs, as the options say; undefined if they say nothing. */
export function filterOf({ kind, error, deadAfter, deadBefore, all }: RedriveOptions): RedriveFilter | undefined {
  const isNarrowed = [kind, error, deadAfter, deadBefore].some((part) => part !== undefined);
  if (isNarrowed) return { kind, error, deadAfter, deadBefore };
  // The API wants to hear it, so that nobody redrives everything by leaving out a field.
  return all ? { deadAfter: new Date(0) } : undefined;
}

/** `of the kind invoice.send, with TypeError in their last error`. */
export function inWords({ kind, error, deadAfter, deadBefore }: RedriveOptions): string {
  const parts = [
    kind && `of the kind ${kind}`,
    error && `with ${JSON.stringify(error)} in their last error`,
    deadAfter && `dead since ${deadAfter.toISOString()}`,
    deadBefore && `dead before ${deadBefore.toISOString()}`,
  ].filter(Boolean);
  return parts.length === 0 ? '' : ` ${parts.join(', ')}`;
}

/** The command that goes on from there. The database's URL, which may hold a password, is left to whoever gave it. */
export function commandThatGoesOn(options: RedriveOptions, after: string, done: number): string {
  const { url, tokenFile, http, sql, databaseUrl, as, kind, error, deadAfter, deadBefore, all, limit, yes, json } =
    options;
  const values = {
    url,
    'token-file': tokenFile,
    'database-url': databaseUrl === undefined ? undefined : '…',
    as,
    kind,
    error,
    'dead-after': deadAfter?.toISOString(),
    'dead-before': deadBefore?.toISOString(),
    // One that was reached is that of the next, too.
    limit: limit === undefined ? undefined : String(limit > done ? limit - done : limit),
    after,
  };
  const words = Object.entries(values).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, quoted(value)],
  );
  const switches = Object.entries({ http, sql, all, yes, json }).flatMap(([name, on]) => (on ? [`--${name}`] : []));
  return ['npx millrace redrive', ...words, ...switches].join(' ');
}

/** As one word of a shell. */
function quoted(text: string): string {
  return /^[\w@%+=:,./…][\w@%+=:,./…-]*$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
