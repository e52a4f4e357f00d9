import type { IncomingMessage } from 'node:http';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { describe, expect, test } from 'vitest';
import { ask, type Guard, guardOf } from '../../local/authorizer.ts';
import type { Ending, LocalFunction } from '../../local/function.ts';
import type { Resource, Stack } from '../../local/template.ts';

const FN = { name: 'Authorize', environment: {} } as LocalFunction;

describe('the guard of a route', () => {
  const AUTHORIZER = {
    AuthorizerType: 'REQUEST',
    AuthorizerPayloadFormatVersion: '2.0',
    EnableSimpleResponses: true,
    AuthorizerUri: { 'Fn::Join': ['', ['arn:…/functions/', { 'Fn::GetAtt': ['F', 'Arn'] }, '/invocations']] },
    IdentitySource: ['$request.header.Authorization'],
  };
  const ROUTE = { AuthorizationType: 'CUSTOM', AuthorizerId: { Ref: 'A' } };

  function guarded(route: object, authorizer: object = AUTHORIZER, fn: LocalFunction | undefined = FN): Guard {
    const resource = (Type: string, Properties: object): Resource => ({
      Type,
      Properties: { ...Properties },
      Metadata: {},
    });
    const resources = new Map([['A', resource('AWS::ApiGatewayV2::Authorizer', authorizer)]]);
    const stack: Stack = { name: 'Stack', directory: '/', resources, queues: [] };
    return guardOf(stack, { ...route }, (value) => (JSON.stringify(value)?.includes('"F"') ? fn : undefined));
  }

  test('is the function that the authorizer names', () => {
    expect(guarded(ROUTE)).toEqual({ kind: 'function', fn: FN, identitySource: ['$request.header.Authorization'] });
  });

  test.for([[{ AuthorizationType: 'NONE' }], [{}]])('is nobody for %j', ([route]) => {
    expect(guarded(route as object)).toEqual({ kind: 'none' });
  });

  test.for<[string, object, object?]>([
    ['IAM', { AuthorizationType: 'AWS_IAM' }],
    ['a JWT', { ...ROUTE, AuthorizationType: 'JWT' }, { AuthorizerType: 'JWT' }],
    ['an authorizer that is not there', { ...ROUTE, AuthorizerId: { Ref: 'B' } }],
    ['an authorizer elsewhere', { ...ROUTE, AuthorizerId: 'abc123' }],
    ['a function elsewhere', ROUTE, { ...AUTHORIZER, AuthorizerUri: 'arn:aws:lambda:…' }],
    ['events of version 1.0', ROUTE, { ...AUTHORIZER, AuthorizerPayloadFormatVersion: '1.0' }],
    ['answers that are policies', ROUTE, { ...AUTHORIZER, EnableSimpleResponses: false }],
    ['a word that is new', { AuthorizationType: 'SOMETHING' }],
  ])('is a closed door for %s', ([, route, authorizer]) => {
    expect(guarded(route, authorizer)).toMatchObject({ kind: 'closed', why: expect.stringContaining('this machine') });
  });
});

describe('asking', () => {
  const GUARD: Guard = {
    kind: 'function',
    fn: FN,
    identitySource: ['$request.header.Authorization', '$context.routeKey'],
  };
  const EVENT = {
    version: '2.0',
    routeKey: 'POST /jobs',
    rawPath: '/jobs',
    headers: { authorization: 'Bearer x' },
    requestContext: { requestId: 'r' },
    body: 'secret',
    isBase64Encoded: false,
  } as unknown as APIGatewayProxyEventV2;
  const request = { method: 'POST' } as IncomingMessage;
  const returned = (value: unknown): Ending => ({ kind: 'returned', json: JSON.stringify(value) ?? 'null' });

  test('passes headers, route and identity, and no body; the context comes back', async () => {
    const asked: unknown[] = [];
    const verdict = await ask(GUARD, request, EVENT, async (fn, event) => {
      asked.push(fn, event);
      return returned({ isAuthorized: true, context: { name: 'ci', role: 'reader' } });
    });
    expect(verdict).toEqual({ kind: 'pass', authorizer: { lambda: { name: 'ci', role: 'reader' } } });
    const { body: _, isBase64Encoded: __, ...rest } = EVENT;
    expect(asked).toEqual([
      FN,
      {
        ...rest,
        type: 'REQUEST',
        routeArn: expect.stringMatching(/^arn:aws:execute-api:.*\/POST\/jobs$/),
        identitySource: ['Bearer x', 'POST /jobs'],
      },
    ]);
  });

  test.for<[string, Record<string, string>]>([
    ['no header', {}],
    ['an empty one', { authorization: '' }],
  ])('%s is a 401 without a question', async ([, headers]) => {
    const never = async () => expect.unreachable();
    expect(await ask(GUARD, request, { ...EVENT, headers }, never)).toEqual({ kind: 'refused', status: 401 });
  });

  test.for<[string, Ending, number]>([
    ['no', returned({ isAuthorized: false }), 403],
    ['no, with a context', returned({ isAuthorized: false, context: { role: 'operator' } }), 403],
    ['a word', returned({ isAuthorized: 'true' }), 500],
    ['nothing', returned(undefined), 500],
    ['a policy', returned({ principalId: 'x', policyDocument: {} }), 500],
    ['an error', { kind: 'threw', error: { name: 'Error', message: 'no' } }, 500],
    ['no answer in time', { kind: 'timed out' }, 500],
    ['its death', { kind: 'died', how: 'exit code 1' }, 500],
  ])('%s lets nobody in', async ([, ending, status]) => {
    expect(await ask(GUARD, request, EVENT, async () => ending)).toMatchObject({ kind: 'refused', status });
  });

  test('a closed door is a 403 that says why', async () => {
    const verdict = await ask({ kind: 'closed', why: 'because' }, request, EVENT, async () => expect.unreachable());
    expect(verdict).toEqual({ kind: 'refused', status: 403, why: 'because' });
  });
});
