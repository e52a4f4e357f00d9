import type { APIGatewayRequestAuthorizerEventV2, APIGatewaySimpleAuthorizerWithContextResult } from 'aws-lambda';
import type { Caller } from '../lambda/caller.ts';
import { createLog } from '../lambda/log.ts';
import { once } from '../lambda/once.ts';
import { requestIdOf } from '../lambda/request-id.ts';
import { findToken, isExpired, TOKEN, type Tokens } from '../lambda/tokens.ts';
import { tokenSource } from './token-source.ts';

export type Authorization = APIGatewaySimpleAuthorizerWithContextResult<Caller | Record<string, never>>;

const source = once(() => tokenSource(process.env));

/**
 * Tells the gateway whose token a request carries, and with which role; what the role may do is the handlers' to say. A
 * request without the header never gets here: the gateway answers 401. Anything but a token that is known and has not expired
 * is refused, which is a 403; when the tokens cannot be read it throws, which is a 500, and lets nobody in either.
 */
export async function handler(event: APIGatewayRequestAuthorizerEventV2): Promise<Authorization> {
  // Of a token nothing goes into the log, neither itself nor its hash; of one that is known, its name.
  const log = createLog({ function: 'authorize', request_id: requestIdOf(event), route: event.routeKey });
  const verdict = judge(event.headers?.authorization, await source()());
  if (verdict.kind === 'refused') {
    log.info('refused', { reason: verdict.reason, unusable_tokens: verdict.unusable });
    return { isAuthorized: false, context: {} };
  }
  log.debug('authorized', { caller: verdict.caller.name });
  return { isAuthorized: true, context: verdict.caller };
}

type Verdict =
  | { readonly kind: 'known'; readonly caller: Caller }
  | { readonly kind: 'refused'; readonly reason: string; readonly unusable?: readonly string[] };

function judge(header: string | undefined, tokens: Tokens): Verdict {
  const [, token] = /^Bearer +(\S+)$/i.exec(header?.trim() ?? '') ?? [];
  if (token === undefined) return { kind: 'refused', reason: 'the header authorization holds no bearer token' };
  if (!TOKEN.test(token)) return { kind: 'refused', reason: 'what it holds is no token of this API' };
  const found = findToken(tokens, token);
  // It may be one of those that cannot be used: whoever looks here wants to know why.
  if (found === undefined) return { kind: 'refused', reason: 'the token is not known', unusable: tokens.unusable };
  if (isExpired(found)) return { kind: 'refused', reason: `the token "${found.name}" expired at ${found.expires_at}` };
  return { kind: 'known', caller: { name: found.name, role: found.role } };
}
