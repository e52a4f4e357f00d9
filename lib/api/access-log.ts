import { RemovalPolicy } from 'aws-cdk-lib';
import { AccessLogFormat } from 'aws-cdk-lib/aws-apigateway';
import { type IAccessLogSettings, LogGroupLogDestination } from 'aws-cdk-lib/aws-apigatewayv2';
import * as logs from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';

/**
 * One line of JSON for each request, by the gateway: those that no function of ours has seen are there too. What was not the
 * case is `-`. No header is among it but the user agent, so no token can be.
 */
const FIELDS = {
  requestId: '$context.requestId',
  ip: '$context.identity.sourceIp',
  method: '$context.httpMethod',
  route: '$context.routeKey',
  protocol: '$context.protocol',
  status: '$context.status',
  responseLength: '$context.responseLength',
  integrationLatency: '$context.integrationLatency',
  integrationError: '$context.integrationErrorMessage',
  authorizerError: '$context.authorizer.error',
  // Whoever it is has one of these: the name of a token, the subject of a JWT, the ARN of a principal.
  token: '$context.authorizer.name',
  subject: '$context.authorizer.claims.sub',
  principal: '$context.identity.userArn',
  userAgent: '$context.identity.userAgent',
} as const;

/** Where the gateway writes down each request, encrypted as CloudWatch Logs encrypts all it keeps. */
export function accessLog(scope: Construct, id: string, retention: logs.RetentionDays): IAccessLogSettings {
  const group = new logs.LogGroup(scope, id, { retention, removalPolicy: RemovalPolicy.DESTROY });
  return { destination: new LogGroupLogDestination(group), format: AccessLogFormat.custom(JSON.stringify(FIELDS)) };
}
