import type { IncomingMessage } from 'node:http';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import * as z from 'zod';
import type { FunctionOf } from './app.ts';
import type { Ending, LocalFunction } from './function.ts';
import { pointedTo, type Stack } from './template.ts';

/** What an HTTP API asks before it lets a request through to its route. */
export type Guard =
  | { readonly kind: 'none' }
  | {
      readonly kind: 'function';
      readonly fn: LocalFunction;
      /** Such as `$request.header.Authorization`. A request that lacks one is not even asked about. */
      readonly identitySource: readonly string[];
    }
  /** It needs what only AWS has (IAM, a JWT issuer), so here nobody can be let through. */
  | { readonly kind: 'closed'; readonly why: string };

/** Whether a request may pass, and what its function gets to know as `requestContext.authorizer`. */
export type Verdict =
  | { readonly kind: 'pass'; readonly authorizer?: { readonly lambda: unknown } }
  | { readonly kind: 'refused'; readonly status: 401 | 403 | 500; readonly why?: string };

/** The guard of a route, as its `Properties` in the template name it. What is not understood is closed. */
export function guardOf(stack: Stack, route: Readonly<Record<string, unknown>>, functionOf: FunctionOf): Guard {
  const { AuthorizationType: type = 'NONE', AuthorizerId } = route;
  if (type === 'NONE') return { kind: 'none' };
  const [, authorizer] = pointedTo(stack, AuthorizerId, 'AWS::ApiGatewayV2::Authorizer') ?? [];
  const { data } = RequestAuthorizer.safeParse(authorizer?.Properties);
  const fn = functionOf(authorizer?.Properties.AuthorizerUri);
  if (type === 'CUSTOM' && data !== undefined && fn !== undefined) {
    return { kind: 'function', fn, identitySource: data.IdentitySource };
  }
  return { kind: 'closed', why: `its authorization (${type}) cannot be checked on this machine` };
}

/** The one form of authorizer that runs here: payload 2.0, answered by `{ isAuthorized, context }`. */
const RequestAuthorizer = z.looseObject({
  AuthorizerType: z.literal('REQUEST'),
  AuthorizerPayloadFormatVersion: z.literal('2.0'),
  EnableSimpleResponses: z.literal(true),
  IdentitySource: z.array(z.string()).default([]),
});

const SimpleResponse = z.looseObject({ isAuthorized: z.boolean(), context: z.unknown().optional() });

/**
 * Asks a route's guard as API Gateway does. It keeps no answers, unlike that: a token that was revoked is out at once.
 */
export async function ask(
  guard: Guard,
  request: IncomingMessage,
  event: APIGatewayProxyEventV2,
  invoke: (fn: LocalFunction, event: unknown) => Promise<Ending>,
): Promise<Verdict> {
  switch (guard.kind) {
    case 'none':
      return { kind: 'pass' };
    case 'closed':
      return { kind: 'refused', status: 403, why: guard.why };
    case 'function': {
      const identitySource = guard.identitySource.map((source) => identityOf(source, event));
      if (identitySource.some((identity) => identity === undefined)) return { kind: 'refused', status: 401 };
      const { body: _, isBase64Encoded: __, ...rest } = event;
      const routeArn = `arn:aws:execute-api:us-east-1:000000000000:local/$default/${request.method}${event.rawPath}`;
      return verdictOf(await invoke(guard.fn, { ...rest, type: 'REQUEST', routeArn, identitySource }), guard.fn);
    }
  }
}

function identityOf(source: string, event: APIGatewayProxyEventV2): string | undefined {
  const [, header] = /^\$request\.header\.(.+)$/.exec(source) ?? [];
  if (header !== undefined) return event.headers[header.toLowerCase()] || undefined;
  return source === '$context.routeKey' ? event.routeKey : undefined;
}

function verdictOf(ending: Ending, { name }: LocalFunction): Verdict {
  if (ending.kind !== 'returned') {
    const how = ending.kind === 'threw' ? `threw ${ending.error.stack ?? ending.error.message}` : ending.kind;
    return { kind: 'refused', status: 500, why: `${name} ${how}` };
  }
  const { data } = SimpleResponse.safeParse(JSON.parse(ending.json));
  if (data === undefined) return { kind: 'refused', status: 500, why: `${name} returned no valid answer` };
  return data.isAuthorized
    ? { kind: 'pass', authorizer: { lambda: data.context ?? {} } }
    : { kind: 'refused', status: 403 };
}
