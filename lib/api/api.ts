import { Names } from 'aws-cdk-lib';
import * as apigateway from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import * as iam from 'aws-cdk-lib/aws-iam';
import type * as lambda from 'aws-cdk-lib/aws-lambda';
import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import type { RouteKey } from '../../functions/lambda/routes.ts';
import { acknowledge } from '../acknowledge.ts';
import type { Auth, ThrottleProps } from '../job-queue-props.ts';
import { accessLog } from './access-log.ts';
import { authorizerOf, checkAuth } from './auth.ts';

/** The functions that answer, by what they do. */
export interface ApiFunctions {
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

export interface ApiProps {
  readonly functions: ApiFunctions;
  readonly auth: Auth;
  /** Tells whose token a request carries. @default - none: only `auth: 'token'` needs it */
  readonly authorize?: lambda.IFunction | undefined;
  /** @default - 100 requests a second, 50 at once */
  readonly throttle?: ThrottleProps | undefined;
  /** How long the access log is kept. @default RetentionDays.ONE_MONTH */
  readonly logRetention?: RetentionDays | undefined;
}

/** What a producer needs: to put jobs in, and to look one up. */
const ENQUEUE_ROUTES = ['POST /jobs', 'POST /jobs/batch', 'GET /jobs/{id}'] as const satisfies RouteKey[];

/**
 * The HTTPS face. Every request but `GET /health` must prove who sends it, those that no route fits included: an outsider
 * cannot tell which routes there are.
 */
export class Api extends Construct {
  readonly http: apigateway.HttpApi;

  /** @throws Error that names a prop which API Gateway would not take */
  constructor(scope: Construct, id: string, props: ApiProps) {
    super(scope, id);
    checkAuth(props.auth);
    const { functions, logRetention = RetentionDays.ONE_MONTH } = props;
    this.http = new apigateway.HttpApi(this, 'Http', {
      // For people: the console lists APIs by name, and CDK's is the construct id, which every queue's would have.
      apiName: Names.uniqueResourceName(scope, { maxLength: 100 }),
      description: 'Millrace jobs',
      createDefaultStage: false,
      defaultAuthorizer: authorizerOf(props.auth, props.authorize),
      defaultIntegration: integrationOf(functions.fallback),
    });
    this.http.addStage('Stage', {
      autoDeploy: true,
      throttle: throttleOf(props.throttle),
      accessLogSettings: accessLog(this, 'AccessLog', logRetention),
    });
    for (const [route, fn] of Object.entries(answering(functions))) this.route(route as RouteKey, fn);
  }

  /**
   * Lets an AWS principal enqueue jobs and look one up; only with `auth: 'iam'` does the gateway ask for it. Policies know routes
   * and no queries, so whoever may look a job up may ask for its payload and result too (`?include=`).
   */
  grantEnqueue(grantee: iam.IGrantable): iam.Grant {
    return iam.Grant.addToPrincipal({
      grantee,
      actions: ['execute-api:Invoke'],
      resourceArns: ENQUEUE_ROUTES.map((route) => this.arnOf(route)),
    });
  }

  /** At the one stage that there is. Where the path has a parameter, policies have a wildcard. */
  private arnOf(route: RouteKey): string {
    const [method, path = ''] = route.split(' ');
    return this.http.arnForExecuteApi(method, path.replace(/\{\w+\}/g, '*'), '$default');
  }

  private route(route: RouteKey, fn: lambda.IFunction): void {
    const [method, path = ''] = route.split(' ');
    const open = route === 'GET /health';
    const routes = this.http.addRoutes({
      path,
      methods: [method as apigateway.HttpMethod],
      integration: integrationOf(fn),
      ...(open && { authorizer: new apigateway.HttpNoneAuthorizer() }),
    });
    if (!open) return;
    for (const own of routes) {
      acknowledge(own, {
        'AwsSolutions-APIG4':
          'Load balancers and uptime checks ask it without credentials. It says that the API answers, reads nothing, and reaches neither database nor secrets.',
      });
    }
  }
}

function answering({ enqueue, jobsRead, manage, ready, metrics, openapi, health }: ApiFunctions) {
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
    'GET /schedules': jobsRead,
    'POST /schedules/{name}/pause': manage,
    'POST /schedules/{name}/resume': manage,
    'POST /schedules/{name}/fire': manage,
    'GET /ready': ready,
    'GET /metrics': metrics,
    'GET /openapi.json': openapi,
    'GET /health': health,
  } satisfies Readonly<Record<RouteKey, lambda.IFunction>>;
}

/** Requests a second, and at once: each may open a database connection, of which the smallest instance has about 80. */
function throttleOf({ rateLimit = 100, burstLimit = 50 }: ThrottleProps = {}): apigateway.ThrottleSettings {
  if (!(rateLimit > 0)) throw new Error(`throttle.rateLimit must be above 0 requests a second, not ${rateLimit}`);
  if (!Number.isInteger(burstLimit) || burstLimit < 1) {
    throw new Error(`throttle.burstLimit must be a whole number of requests from 1, not ${burstLimit}`);
  }
  return { rateLimit, burstLimit };
}

function integrationOf(fn: lambda.IFunction): HttpLambdaIntegration {
  return new HttpLambdaIntegration(fn.node.id, fn);
}
