import { expect, test } from 'vitest';
import { KEPT_MS } from '../../functions/authorize/token-source.ts';
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
    'POST /jobs/batch': 'enqueue',
    'GET /jobs': 'jobsRead',
    'GET /jobs/{id}': 'jobsRead',
    'DELETE /jobs/{id}': 'manage',
    'POST /jobs/{id}/cancel': 'manage',
    'POST /jobs/{id}/redrive': 'manage',
    'POST /jobs/redrive': 'manage',
    'POST /queues/{name}/pause': 'manage',
    'POST /queues/{name}/resume': 'manage',
    'POST /kinds/{name}/pause': 'manage',
    'POST /kinds/{name}/resume': 'manage',
    'GET /ready': 'ready',
    'GET /metrics': 'metrics',
    'GET /openapi.json': 'openapi',
    'GET /health': 'health',
    $default: 'fallback',
  });
});

const authorizers = template.findResources('AWS::ApiGatewayV2::Authorizer');

test('nobody gets in without the one authorizer, but for GET /health', () => {
  const [id, ...others] = Object.keys(authorizers);
  expect(others).toEqual([]);
  const open = routes.filter(
    ({ AuthorizationType, AuthorizerId }) => AuthorizationType !== 'CUSTOM' || AuthorizerId.Ref !== id,
  );
  expect(open.map(({ RouteKey, AuthorizationType }) => [RouteKey, AuthorizationType])).toEqual([
    ['GET /health', 'NONE'],
  ]);
});

test('the authorizer is asked about each token and route, with events of version 2.0', () => {
  const { AuthorizerUri, ...authorizer } = only(template, 'AWS::ApiGatewayV2::Authorizer');
  expect(authorizer).toMatchObject({
    AuthorizerType: 'REQUEST',
    AuthorizerPayloadFormatVersion: '2.0',
    EnableSimpleResponses: true,
    IdentitySource: ['$request.header.Authorization', '$context.routeKey'],
  });
  expect(JSON.stringify(AuthorizerUri)).toContain(`"Fn::GetAtt":["${idOf(queue.functions.authorize)}","Arn"]`);
});

test('a token that is revoked is out within a minute: what the gateway and the authorizer keep comes on top', () => {
  const { AuthorizerResultTtlInSeconds } = only(template, 'AWS::ApiGatewayV2::Authorizer');
  expect(AuthorizerResultTtlInSeconds + KEPT_MS / 1000).toBeLessThan(60);
});

test('the tokens begin with none, and a deploy does not write over those that were put in', () => {
  const secret = template.toJSON().Resources[idOf(queue.tokens)];
  expect(secret.Properties.SecretString).toBe('{"tokens":[]}');
  // A generated name: a secret of a fixed one could not be made again while the old one waits to be deleted.
  expect(secret.Properties.Name).toBeUndefined();
});

test('no setting of the stack opens the API', () => {
  expect(JSON.stringify(template.toJSON())).not.toContain('OPEN_ROLE');
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
