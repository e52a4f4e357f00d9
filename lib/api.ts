import * as apigateway from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpIamAuthorizer } from 'aws-cdk-lib/aws-apigatewayv2-authorizers';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import type * as iam from 'aws-cdk-lib/aws-iam';
import type * as lambda from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';

export interface ApiProps {
  readonly enqueue: lambda.IFunction;
  readonly jobsRead: lambda.IFunction;
  readonly manage: lambda.IFunction;
  readonly ready: lambda.IFunction;
  readonly metrics: lambda.IFunction;
  readonly health: lambda.IFunction;
  /** Answers whatever no route fits: 404, or 405 with the methods that do. */
  readonly fallback: lambda.IFunction;
}

const { GET, POST } = apigateway.HttpMethod;

/** Requests a second, and at once: each may open a database connection, of which the smallest instance has about 80. */
const THROTTLE: apigateway.ThrottleSettings = { rateLimit: 100, burstLimit: 50 };

/**
 * The HTTPS face. Every request but `GET /health` must be signed by a principal that may invoke the route, those that no
 * route fits included: an outsider cannot tell which routes there are.
 */
export class Api extends Construct {
  readonly http: apigateway.HttpApi;
  private readonly enqueueRoutes: readonly apigateway.HttpRoute[];

  constructor(scope: Construct, id: string, functions: ApiProps) {
    super(scope, id);
    this.http = new apigateway.HttpApi(this, 'Http', {
      description: 'Millrace jobs',
      createDefaultStage: false,
      defaultAuthorizer: new HttpIamAuthorizer(),
      defaultIntegration: integrationOf(functions.fallback),
    });
    this.http.addStage('Stage', { autoDeploy: true, throttle: THROTTLE });

    this.enqueueRoutes = this.route(functions.enqueue, POST, '/jobs');
    this.route(functions.jobsRead, GET, '/jobs', '/jobs/{id}');
    this.route(functions.manage, POST, '/jobs/{id}/cancel', '/jobs/{id}/redrive');
    this.route(functions.ready, GET, '/ready');
    this.route(functions.metrics, GET, '/metrics');
    this.http.addRoutes({
      path: '/health',
      methods: [GET],
      integration: integrationOf(functions.health),
      authorizer: new apigateway.HttpNoneAuthorizer(),
    });
  }

  /** Lets the grantee enqueue jobs by signed requests. */
  grantEnqueue(grantee: iam.IGrantable): void {
    for (const route of this.enqueueRoutes) route.grantInvoke(grantee);
  }

  private route(fn: lambda.IFunction, method: apigateway.HttpMethod, ...paths: string[]): apigateway.HttpRoute[] {
    const integration = integrationOf(fn);
    return paths.flatMap((path) => this.http.addRoutes({ path, methods: [method], integration }));
  }
}

function integrationOf(fn: lambda.IFunction): HttpLambdaIntegration {
  return new HttpLambdaIntegration(fn.node.id, fn);
}
