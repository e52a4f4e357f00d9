import { Match } from 'aws-cdk-lib/assertions';
import * as iam from 'aws-cdk-lib/aws-iam';
import { expect, test } from 'vitest';
import { idOf, only, type Properties, synthesize } from './synthesize.ts';

const { queue, template } = synthesize();
const routes = Object.values(template.findResources('AWS::ApiGatewayV2::Route')).map(({ Properties }) => Properties);

/** The function that answers a route, by its name in `queue.functions`. */
function answerOf(route: Properties): string | undefined {
  const integration = template.findResources('AWS::ApiGatewayV2::Integration')[route.Target['Fn::Join'][1][1].Ref];
  const [id] = integration?.Properties.IntegrationUri['Fn::GetAtt'] ?? [];
  return Object.entries(queue.functions).find(([, fn]) => idOf(fn) === id)?.[0];
}

test('each route has its function, and what no route fits has one too', () => {
  expect(Object.fromEntries(routes.map((route) => [route.RouteKey, answerOf(route)]))).toEqual({
    'POST /jobs': 'enqueue',
    'GET /jobs': 'jobsRead',
    'GET /jobs/{id}': 'jobsRead',
    'POST /jobs/{id}/cancel': 'manage',
    'POST /jobs/{id}/redrive': 'manage',
    'GET /ready': 'ready',
    'GET /metrics': 'metrics',
    'GET /health': 'health',
    $default: 'fallback',
  });
});

test('nobody gets in unsigned, but for GET /health', () => {
  const open = routes.filter(({ AuthorizationType }) => AuthorizationType !== 'AWS_IAM');
  expect(open.map(({ RouteKey, AuthorizationType }) => [RouteKey, AuthorizationType])).toEqual([
    ['GET /health', 'NONE'],
  ]);
});

test('the gateway calls functions with events of version 2.0', () => {
  template.allResourcesProperties('AWS::ApiGatewayV2::Integration', { PayloadFormatVersion: '2.0' });
});

test('requests are throttled', () => {
  expect(only(template, 'AWS::ApiGatewayV2::Stage')).toMatchObject({
    StageName: '$default',
    AutoDeploy: true,
    DefaultRouteSettings: { ThrottlingRateLimit: 100, ThrottlingBurstLimit: 50 },
  });
});

test('grantEnqueue allows POST /jobs and nothing else', () => {
  const granted = synthesize(undefined, (jobs, stack) => {
    jobs.grantEnqueue(new iam.Role(stack, 'Shop', { assumedBy: new iam.ServicePrincipal('ec2.amazonaws.com') }));
  });
  const policy = only(granted.template, 'AWS::IAM::Policy', { Roles: [{ Ref: Match.stringLikeRegexp('^Shop') }] });
  const [statement, ...others] = policy.PolicyDocument.Statement;
  expect(others).toEqual([]);
  expect(statement).toMatchObject({ Action: 'execute-api:Invoke', Effect: 'Allow' });
  expect(JSON.stringify(statement.Resource)).toContain('/*/POST/jobs"');
});
