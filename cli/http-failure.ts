import { ApiError } from '../client/api-error.ts';
import { isLoopback } from '../functions/lambda/tls.ts';
import { CliError, EXIT, type ExitCode } from './cli-error.ts';
import type { Doing } from './doing.ts';

/** Tokens that may, the one that may least first. */
const ROLE: Readonly<Record<Doing, string>> = {
  see: 'producer, reader or operator',
  read: 'reader or operator',
  enqueue: 'producer or operator',
  act: 'operator',
};

const EXITS: Readonly<Record<string, ExitCode>> = {
  'no-such-job': EXIT.notThere,
  'no-such-schedule': EXIT.notThere,
  'wrong-state': EXIT.notThere,
  'unique-key-taken': EXIT.notThere,
  'schedule-overlap': EXIT.notThere,
  // Ids have been read already: it is a path that the API reads as one.
  'invalid-id': EXIT.unreachable,
  'no-such-route': EXIT.unreachable,
  'invalid-name': EXIT.usage,
  'invalid-query': EXIT.usage,
  'invalid-cursor': EXIT.usage,
  'invalid-filter': EXIT.usage,
  unauthorized: EXIT.unreachable,
  forbidden: EXIT.unreachable,
  unreachable: EXIT.unreachable,
  redirected: EXIT.unreachable,
  throttled: EXIT.unreachable,
  'gateway-error': EXIT.unreachable,
  'unexpected-answer': EXIT.unreachable,
  'database-unavailable': EXIT.unreachable,
  'schema-outdated': EXIT.unreachable,
};

/** OpenSSL's words for a certificate that nobody here vouches for. */
const UNTRUSTED = [
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
];

/** And for one that does not speak TLS at all. */
const NO_TLS = ['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG'];

/** What the API or the way to it said, for the person at the terminal. What is no ApiError comes as it is. */
export function httpFailure(
  error: unknown,
  doing: Doing,
  { where, hasToken }: { readonly where: string; readonly hasToken: boolean },
): unknown {
  if (error instanceof TypeError || error instanceof RangeError) {
    return new CliError(error.message, EXIT.usage, { cause: error });
  }
  if (!(error instanceof ApiError)) return error;
  const hint = hintFor(error, doing, where, hasToken);
  const flaws = error.errors.map(({ pointer, detail }) => `\n  ${pointer || 'the whole'} ${detail}`).join('');
  const isOwn = error.type !== undefined;
  const what = isOwn ? `${summaryOf(error)}${flaws}` : wayTo(where, error);
  return new CliError(hint ? `${what}\n${hint}` : what, exitOf(error), { code: error.code, cause: error });
}

/** Where the flaws say it all, the detail says only to look at them. */
function summaryOf({ detail, errors, problem }: ApiError): string {
  return errors.length > 0 && detail.startsWith('Look at errors') ? `${problem?.title}:` : detail;
}

/** What is between this machine and the API, or stands in its place. */
function wayTo(where: string, { code, detail, cause }: ApiError): string {
  if (code !== 'unreachable') return `${where}: ${detail}`;
  if (NO_TLS.includes(tlsCodeOf(cause)))
    return `${where}: What listens there does not speak TLS. Is it http: in place of https:?`;
  return detail.replace('Is url right', 'Is --url (or MILLRACE_URL) right');
}

function exitOf({ code }: ApiError): ExitCode {
  return EXITS[code] ?? EXIT.failed;
}

function hintFor({ code, cause }: ApiError, doing: Doing, where: string, hasToken: boolean): string | undefined {
  if (code === 'unauthorized' || code === 'forbidden') {
    const kept = URL.canParse(where) && isLoopback(new URL(where).hostname) ? '' : ' --secret "$TOKENS_SECRET_ARN"';
    const how = `npx millrace token create --name me --role ${/^\w+/.exec(ROLE[doing])?.[0]}${kept}`;
    const held = hasToken ? 'The token that was sent does not do' : 'No token was sent: MILLRACE_TOKEN holds it';
    return `${held}; this takes the role ${ROLE[doing]}. One is made by: ${how}`;
  }
  if (code === 'no-such-route' || code === 'invalid-id') {
    return 'Is --url (or MILLRACE_URL) the address of the API alone, with no path of it?';
  }
  if (code === 'schema-outdated') return 'The migrations have to run: npx millrace migrate, or a deploy.';
  if (code === 'unreachable' && UNTRUSTED.includes(tlsCodeOf(cause))) {
    return 'Its certificate is signed by nobody that this machine trusts: NODE_EXTRA_CA_CERTS=<file.pem> names an authority of your own.';
  }
  if (code === 'internal-error') return 'Its logs say more, by the request id of LOG_LEVEL=debug.';
  return undefined;
}

function tlsCodeOf(error: unknown): string {
  const { cause, code } = (error ?? {}) as { cause?: unknown; code?: unknown };
  return cause === undefined || cause === null ? String(code ?? '') : tlsCodeOf(cause);
}
