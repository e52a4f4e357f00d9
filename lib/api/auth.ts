import { Duration, Token } from 'aws-cdk-lib';
import type { IHttpRouteAuthorizer } from 'aws-cdk-lib/aws-apigatewayv2';
import {
  HttpIamAuthorizer,
  HttpJwtAuthorizer,
  HttpLambdaAuthorizer,
  HttpLambdaResponseType,
} from 'aws-cdk-lib/aws-apigatewayv2-authorizers';
import type * as lambda from 'aws-cdk-lib/aws-lambda';
import type { Auth, JwtAuth } from '../job-queue-props.ts';

export const DEFAULT_ROLE_CLAIM = 'millrace_role';

/**
 * How long the gateway believes what the authorizer said. The authorizer believes what it has read for 25 s (its
 * token-source.ts): a revoked token is out after 55 s at most, and 60 s are promised.
 */
const AUTHORIZED_FOR = Duration.seconds(30);

/**
 * What the gateway asks before it lets a request through.
 * @param authorize - tells whose token a request carries; only `token` needs it
 */
export function authorizerOf(auth: Auth, authorize: lambda.IFunction | undefined): IHttpRouteAuthorizer {
  if (auth === 'iam') return new HttpIamAuthorizer();
  if (auth !== 'token') return new HttpJwtAuthorizer('Jwt', auth.issuer, { jwtAudience: [...auth.audience] });
  if (authorize === undefined) throw new Error("an API with auth 'token' needs the function that knows the tokens");
  return new HttpLambdaAuthorizer('Tokens', authorize, {
    responseTypes: [HttpLambdaResponseType.SIMPLE],
    // What is said of a token is believed for one route only: were it to look at the route, its answer would not reach another.
    identitySource: ['$request.header.Authorization', '$context.routeKey'],
    resultsCacheTtl: AUTHORIZED_FOR,
  });
}

/** What the functions behind the API must know of it: with JWTs, the claim that holds the role; nothing else then counts. */
export function authEnvironment(auth: Auth): Record<string, string> {
  return isJwt(auth) ? { JWT_ROLE_CLAIM: auth.roleClaim ?? DEFAULT_ROLE_CLAIM } : {};
}

/** @throws Error that says what API Gateway would refuse in the middle of a deploy, or what would let nobody in */
export function checkAuth(auth: Auth): void {
  if (!isJwt(auth)) return;
  const { issuer, audience, roleClaim = DEFAULT_ROLE_CLAIM } = auth;
  if (!Token.isUnresolved(issuer) && !/^https:\/\/[^\s/]+\S*$/.test(issuer)) {
    throw new Error(`auth.issuer must be a URL that begins with https://, not "${issuer}"`);
  }
  if (!Token.isUnresolved(audience) && (audience.length === 0 || audience.some((one) => one.trim() === ''))) {
    throw new Error(
      'auth.audience must name at least one audience: with none, tokens meant for others would open the API',
    );
  }
  if (roleClaim.trim() === '' || roleClaim !== roleClaim.trim()) {
    throw new Error(`auth.roleClaim must be the name of a claim, not "${roleClaim}"`);
  }
}

function isJwt(auth: Auth): auth is JwtAuth {
  return typeof auth === 'object';
}
