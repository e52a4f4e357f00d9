import { App, Stack } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { describe, expect, test } from 'vitest';
import { KEPT_MS } from '../../functions/authorize/token-source.ts';
import { ROUTES } from '../../functions/lambda/routes.ts';
import { Api, type ApiProps } from '../../lib/api/api.ts';
import { authEnvironment } from '../../lib/api/auth.ts';
import type { Auth } from '../../lib/job-queue-props.ts';
import { apiFunctions, someFunction, stackOf } from './parts.ts';
import { only, type Properties, synthesize } from './synthesize.ts';

const JWT = { issuer: 'https://login.example.com/', audience: ['jobs'] };

/** An API on functions of no worth, and what it became. */
function apiOf(props: Partial<ApiProps> = {}) {
  const { made, template, stack } = stackOf((stack) => {
    const functions = apiFunctions(stack);
    const authorize = someFunction(stack, 'Authorize');
    return { functions, authorize, api: new Api(stack, 'Api', { functions, auth: 'token', authorize, ...props }) };
  });
  const routes = Object.values(template.findResources('AWS::ApiGatewayV2::Route')).map(({ Properties }) => Properties);
  return { ...made, template, stack, routes: routes as Properties[] };
}

const { template, routes, stack } = apiOf();

/** The function that answers a route, by its construct id. */
function answerOf(route: Properties): string | undefined {
  const integration = template.findResources('AWS::ApiGatewayV2::Integration')[route.Target['Fn::Join'][1][1].Ref];
  const [id] = integration?.Properties.IntegrationUri['Fn::GetAtt'] ?? [];
  return stack.node.children.find((child) => id?.startsWith(child.node.id))?.node.id;
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
    'GET /schedules': 'jobsRead',
    'POST /schedules/{name}/pause': 'manage',
    'POST /schedules/{name}/resume': 'manage',
    'POST /schedules/{name}/fire': 'manage',
    'GET /ready': 'ready',
    'GET /metrics': 'metrics',
    'GET /openapi.json': 'openapi',
    'GET /health': 'health',
    $default: 'fallback',
  });
});

describe.each<[string, Auth, string]>([
  ['token', 'token', 'CUSTOM'],
  ['iam', 'iam', 'AWS_IAM'],
  ['jwt', JWT, 'JWT'],
])('auth %s', (_, auth, type) => {
  const own = apiOf({ auth });

  test('lets nobody in without, but for GET /health; where no route fits neither', () => {
    const [authorizer, ...others] = Object.keys(own.template.findResources('AWS::ApiGatewayV2::Authorizer'));
    expect(others).toEqual([]);
    expect(authorizer === undefined).toBe(auth === 'iam');
    const asked = own.routes.filter(({ RouteKey }) => RouteKey !== 'GET /health');
    expect(asked).toHaveLength(Object.keys(ROUTES).length);
    for (const { RouteKey, AuthorizationType, AuthorizerId } of asked) {
      expect([AuthorizationType, AuthorizerId?.Ref], RouteKey).toEqual([type, authorizer]);
    }
    expect(own.routes.find(({ RouteKey }) => RouteKey === 'GET /health')?.AuthorizationType).toBe('NONE');
  });

  test('no setting of the stack opens the API', () => {
    expect(JSON.stringify(own.template.toJSON())).not.toContain('OPEN_ROLE');
  });
});

describe('tokens', () => {
  test('the authorizer is asked about each token and route, with events of version 2.0', () => {
    const { AuthorizerUri, ...authorizer } = only(template, 'AWS::ApiGatewayV2::Authorizer');
    expect(authorizer).toMatchObject({
      AuthorizerType: 'REQUEST',
      AuthorizerPayloadFormatVersion: '2.0',
      EnableSimpleResponses: true,
      IdentitySource: ['$request.header.Authorization', '$context.routeKey'],
    });
    expect(JSON.stringify(AuthorizerUri)).toMatch(/"Fn::GetAtt":\["Authorize\w+","Arn"\]/);
  });

  test('one that is revoked is out within a minute: what the gateway and the authorizer keep comes on top', () => {
    const { AuthorizerResultTtlInSeconds } = only(template, 'AWS::ApiGatewayV2::Authorizer');
    expect(AuthorizerResultTtlInSeconds + KEPT_MS / 1000).toBeLessThan(60);
  });

  test('the authorizer is not forgotten', () => {
    expect(() => apiOf({ authorize: undefined })).toThrow("auth 'token' needs the function that knows the tokens");
  });
});

describe('JWTs', () => {
  test('the gateway checks issuer and audience', () => {
    expect(only(apiOf({ auth: JWT }).template, 'AWS::ApiGatewayV2::Authorizer')).toMatchObject({
      AuthorizerType: 'JWT',
      IdentitySource: ['$request.header.Authorization'],
      JwtConfiguration: { Issuer: 'https://login.example.com/', Audience: ['jobs'] },
    });
  });

  test('the functions are told which claim holds the role, and only then', () => {
    expect(authEnvironment(JWT)).toEqual({ JWT_ROLE_CLAIM: 'millrace_role' });
    expect(authEnvironment({ ...JWT, roleClaim: 'cognito:groups' })).toEqual({ JWT_ROLE_CLAIM: 'cognito:groups' });
    expect([authEnvironment('token'), authEnvironment('iam')]).toEqual([{}, {}]);
  });

  test.each<[object, string]>([
    [{ issuer: 'http://login.example.com' }, 'auth.issuer must be a URL that begins with https://'],
    [{ issuer: 'login.example.com' }, 'auth.issuer must be a URL that begins with https://, not "login.example.com"'],
    [{ audience: [] }, 'auth.audience must name at least one audience'],
    [{ audience: [' '] }, 'auth.audience must name at least one audience'],
    [{ roleClaim: '' }, 'auth.roleClaim must be the name of a claim, not ""'],
  ])('%o is refused at synth', (own, sentence) => {
    expect(() => apiOf({ auth: { ...JWT, ...own } })).toThrow(sentence);
  });

  test('the issuer may be one that the app itself makes', () => {
    const app = new App();
    const issuer = new Stack(app, 'Users').formatArn({ service: 'cognito-idp', resource: 'pool' });
    expect(() => apiOf({ auth: { ...JWT, issuer } })).not.toThrow();
  });
});

describe('grantEnqueue', () => {
  test('lets a principal enqueue and see how a job is, and no more', () => {
    const { template: own } = stackOf((stack) => {
      const api = new Api(stack, 'Api', { functions: apiFunctions(stack), auth: 'iam' });
      api.grantEnqueue(new iam.Role(stack, 'Shop', { assumedBy: new iam.AccountRootPrincipal() }));
    });
    const [statement, ...others] = only(own, 'AWS::IAM::Policy').PolicyDocument.Statement;
    expect(others).toEqual([]);
    expect(statement).toMatchObject({ Action: 'execute-api:Invoke', Effect: 'Allow' });
    const resources = statement.Resource.map(({ 'Fn::Join': [, parts] }: Properties) => parts.at(-1));
    expect(resources).toEqual(['/$default/POST/jobs', '/$default/POST/jobs/batch', '/$default/GET/jobs/*']);
  });
});

describe('the access log', () => {
  const { DestinationArn, Format } = only(template, 'AWS::ApiGatewayV2::Stage').AccessLogSettings;

  test('has a line of JSON for each request: who, what, and how it went', () => {
    expect(Object.keys(JSON.parse(Format))).toEqual([
      'requestId',
      'ip',
      'method',
      'route',
      'protocol',
      'status',
      'responseLength',
      'integrationLatency',
      'integrationError',
      'authorizerError',
      'token',
      'subject',
      'principal',
      'userAgent',
    ]);
  });

  test('holds no header but the user agent: no token gets into it', () => {
    const variables = Object.values<string>(JSON.parse(Format));
    for (const variable of variables) expect(variable).toMatch(/^\$context\.[\w.]+$/);
    expect(Format).not.toMatch(/header|authorization|\$request|querystring|body/i);
  });

  test('is kept for a month, or as long as is wished, and goes with the stack', () => {
    const group = template.toJSON().Resources[DestinationArn['Fn::GetAtt'][0]];
    expect(group).toMatchObject({ Properties: { RetentionInDays: 30 }, DeletionPolicy: 'Delete' });
    const longer = apiOf({ logRetention: RetentionDays.ONE_YEAR }).template;
    expect(only(longer, 'AWS::Logs::LogGroup').RetentionInDays).toBe(365);
  });
});

describe('throttling', () => {
  const stageOf = (throttle?: ApiProps['throttle']) => only(apiOf({ throttle }).template, 'AWS::ApiGatewayV2::Stage');

  test('has a default, and each of its numbers can be set', () => {
    expect(stageOf()).toMatchObject({
      StageName: '$default',
      AutoDeploy: true,
      DefaultRouteSettings: { ThrottlingRateLimit: 100, ThrottlingBurstLimit: 50 },
    });
    expect(stageOf({ rateLimit: 0.5 }).DefaultRouteSettings).toEqual({
      ThrottlingRateLimit: 0.5,
      ThrottlingBurstLimit: 50,
    });
    expect(stageOf({ burstLimit: 7 }).DefaultRouteSettings).toMatchObject({ ThrottlingBurstLimit: 7 });
  });

  test('has its default where an app says undefined, which it may if its TypeScript is less strict', () => {
    const { DefaultRouteSettings } = stageOf({ rateLimit: 5, ...({ burstLimit: undefined } as object) });
    expect(DefaultRouteSettings).toEqual({ ThrottlingRateLimit: 5, ThrottlingBurstLimit: 50 });
  });

  test.each<[ApiProps['throttle'], string]>([
    [{ rateLimit: 0 }, 'throttle.rateLimit must be above 0 requests a second, not 0'],
    [{ burstLimit: 0 }, 'throttle.burstLimit must be a whole number of requests from 1, not 0'],
    [{ burstLimit: 1.5 }, 'throttle.burstLimit must be a whole number of requests from 1, not 1.5'],
  ])('%o is refused at synth', (throttle, sentence) => {
    expect(() => apiOf({ throttle })).toThrow(sentence);
  });
});

test('two APIs can be told apart in the console', () => {
  const { template: two } = stackOf((other) => {
    for (const id of ['Mail', 'Reports']) {
      const queue = new Construct(other, id);
      new Api(queue, 'Api', { functions: apiFunctions(queue), auth: 'iam' });
    }
  });
  const names = Object.values(two.findResources('AWS::ApiGatewayV2::Api')).map(({ Properties }) => Properties.Name);
  expect(names).toEqual([expect.stringMatching(/^PartsMail/), expect.stringMatching(/^PartsReports/)]);
});

test('the gateway calls functions with events of version 2.0', () => {
  template.allResourcesProperties('AWS::ApiGatewayV2::Integration', { PayloadFormatVersion: '2.0' });
});

test('only the gateway, by the routes that there are, may call the functions', () => {
  const allowed = Object.values(template.findResources('AWS::Lambda::Permission')).map(({ Properties }) => Properties);
  expect(new Set(allowed.map(({ Principal }) => Principal))).toEqual(new Set(['apigateway.amazonaws.com']));
  for (const { SourceArn } of allowed) expect(JSON.stringify(SourceArn)).toContain('"Ref":"ApiHttp');
});

test('the tokens begin with none, and a deploy does not write over those that were put in', () => {
  const whole = synthesize().template;
  const secret = Object.values(whole.findResources('AWS::SecretsManager::Secret')).find(
    ({ Properties }) => Properties.SecretString === '{"tokens":[]}',
  );
  expect(secret).toBeDefined();
  // A generated name: a secret of a fixed one could not be made again while the old one waits to be deleted.
  expect(secret?.Properties.Name).toBeUndefined();
});
