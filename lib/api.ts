import { Duration } from 'aws-cdk-lib';
import * as apigateway from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpLambdaAuthorizer, HttpLambdaResponseType } from 'aws-cdk-lib/aws-apigatewayv2-authorizers';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import type * as lambda from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import type { RouteKey } from '../functions/lambda/routes.ts';

export interface ApiProps {
  /** Tells whose token a request carries. */
  readonly authorize: lambda.IFunction;
  readonly enqueue: lambda.IFunction;
  readonly jobsRead: lambda.IFunction;
  readonly manage: lambda.IFunction;
  readonly ready: lambda.IFunction;
  readonly metrics: lambda.IFunction;
  readonly openapi: lambda.IFunction;
  readonly health: lambda.IFunction;
  /** Answers whatever no route fits: 404, or 405 with the methods that do. */
  readonly fallback: lambda.IFunction;
}

/** Requests a second, and at once: each may open a database connection, of which the smallest instance has about 80. */
const THROTTLE: apigateway.ThrottleSettings = { rateLimit: 100, burstLimit: 50 };

/**
 * How long the gateway believes what the authorizer said. The authorizer believes what it has read for 25 s (its
 * token-source.ts): a revoked token is out after 55 s at most, and 60 s are promised.
 */
const AUTHORIZED_FOR = Duration.seconds(30);

/**
 * The HTTPS face. Every request but `GET /health` must carry a token, those that no route fits included: an outsider cannot
 * tell which routes there are.
 */
export class Api extends Construct {
  readonly http: apigateway.HttpApi;

  constructor(scope: Construct, id: string, functions: ApiProps) {
    super(scope, id);
    this.http = new apigateway.HttpApi(this, 'Http', {
      description: 'Millrace jobs',
      createDefaultStage: false,
      defaultAuthorizer: tokenAuthorizer(functions.authorize),
      defaultIntegration: integrationOf(functions.fallback),
    });
    this.http.addStage('Stage', { autoDeploy: true, throttle: THROTTLE });
    for (const [route, fn] of Object.entries(answering(functions))) this.route(route as RouteKey, fn);
  }

  private route(route: RouteKey, fn: lambda.IFunction): void {
    const [method, path = ''] = route.split(' ');
    this.http.addRoutes({
      path,
      methods: [method as apigateway.HttpMethod],
      integration: integrationOf(fn),
      ...(route === 'GET /health' && { authorizer: new apigateway.HttpNoneAuthorizer() }),
    });
  }
}

function answering({ enqueue, jobsRead, manage, ready, metrics, openapi, health }: ApiProps) {
  return {
    'POST /jobs': enqueue,
    'POST /jobs/batch': enqueue,
    'GET /jobs': jobsRead,
    'GET /jobs/{id}': jobsRead,
    'DELETE /jobs/{id}': manage,
    'POST /jobs/{id}/cancel': manage,
    'POST /jobs/{id}/redrive': manage,
    'POST /jobs/redrive': manage,
    'POST /queues/{name}/pause': manage,
    'POST /queues/{name}/resume': manage,
    'POST /kinds/{name}/pause': manage,
    'POST /kinds/{name}/resume': manage,
    'GET /ready': ready,
    'GET /metrics': metrics,
    'GET /openapi.json': openapi,
    'GET /health': health,
  } satisfies Readonly<Record<RouteKey, lambda.IFunction>>;
}

/** What it says of a token is believed for one route only: were it to look at the route, its answer would not reach another. */
function tokenAuthorizer(authorize: lambda.IFunction): HttpLambdaAuthorizer {
  return new HttpLambdaAuthorizer('Tokens', authorize, {
    responseTypes: [HttpLambdaResponseType.SIMPLE],
    identitySource: ['$request.header.Authorization', '$context.routeKey'],
    resultsCacheTtl: AUTHORIZED_FOR,
  });
}

function integrationOf(fn: lambda.IFunction): HttpLambdaIntegration {
  return new HttpLambdaIntegration(fn.node.id, fn);
}
