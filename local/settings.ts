import { StartError } from './start-error.ts';

export interface Settings {
  /** 0 to 65535; 0 picks a free one. Default 3000. */
  readonly port: number;
  /** A Postgres of your own in place of the embedded one. */
  readonly databaseUrl: string | undefined;
  /** Seconds between ticks in place of the schedules' own periods. Default: as the template says. */
  readonly tickSeconds: number | undefined;
  /** Asks the template's authorizers. Default false: whoever can reach the loopback is an operator. */
  readonly auth: boolean;
}

const LEVELS = ['debug', 'info', 'warn', 'error'];

/**
 * Reads PORT, DATABASE_URL, MILLRACE_TICK_SECONDS and MILLRACE_AUTH, and looks at LOG_LEVEL, which the functions read;
 * an empty value counts as unset.
 * @throws StartError `bad_setting`
 */
export function readSettings(env: NodeJS.ProcessEnv): Settings {
  const port = env.PORT || '3000';
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535) {
    throw new StartError(
      'bad_setting',
      `PORT is "${port}": give a whole number from 0 to 65535, where 0 picks a free port.`,
    );
  }
  if (env.LOG_LEVEL && !LEVELS.includes(env.LOG_LEVEL)) {
    throw new StartError(
      'bad_setting',
      `LOG_LEVEL is "${env.LOG_LEVEL}": write one of ${LEVELS.join(', ')}, or unset it.`,
    );
  }
  return {
    port: Number(port),
    databaseUrl: databaseUrl(env.DATABASE_URL),
    tickSeconds: tickSeconds(env.MILLRACE_TICK_SECONDS),
    auth: auth(env.MILLRACE_AUTH),
  };
}

function databaseUrl(value: string | undefined): string | undefined {
  if (!value) return undefined;
  if (/^postgres(ql)?:\/\//.test(value) && URL.canParse(value)) return value;
  // Not repeated: it may hold a password.
  throw new StartError(
    'bad_setting',
    'DATABASE_URL is no Postgres URL: write it as postgres://user:password@host:5432/database, or unset it to use the embedded Postgres.',
  );
}

function tickSeconds(value: string | undefined): number | undefined {
  if (!value) return undefined;
  const seconds = Number(value);
  if (seconds >= 0.2 && seconds <= 86_400) return seconds;
  throw new StartError(
    'bad_setting',
    `MILLRACE_TICK_SECONDS is "${value}": give seconds from 0.2 to 86400, or unset it to tick as the schedules say.`,
  );
}

/** Nothing is guessed: who writes "true" and gets an open API has been told the wrong thing. */
function auth(value: string | undefined): boolean {
  if (!value || value === 'off') return false;
  if (value === 'on') return true;
  throw new StartError('bad_setting', `MILLRACE_AUTH is "${value}": write on or off, or unset it, which is off.`);
}
