import { describe, expect, test } from 'vitest';
import { matchRoute, routeOf } from '../../local/routes.ts';

const routes = [
  '$default',
  'ANY /{proxy+}',
  'GET /jobs',
  'POST /jobs',
  'GET /jobs/{id}',
  'ANY /jobs/{id}',
  'GET /jobs/latest',
  'POST /jobs/{id}/cancel',
  'GET /files/{path+}',
].map((key) => routeOf(key, 30_000));

describe('matchRoute', () => {
  test.each([
    ['POST', '/jobs', 'POST /jobs', {}],
    ['GET', '/jobs/7', 'GET /jobs/{id}', { id: '7' }],
    ['DELETE', '/jobs/7', 'ANY /jobs/{id}', { id: '7' }],
    ['GET', '/jobs/latest', 'GET /jobs/latest', {}],
    ['POST', '/jobs/7/cancel', 'POST /jobs/{id}/cancel', { id: '7' }],
    ['GET', '/files/a/b c', 'GET /files/{path+}', { path: 'a/b c' }],
    // An empty segment is no parameter, a trailing slash is no route.
    ['GET', '/jobs/', 'ANY /{proxy+}', { proxy: 'jobs/' }],
    ['PATCH', '/jobs', 'ANY /{proxy+}', { proxy: 'jobs' }],
    ['HEAD', '/', '$default', {}],
  ])('%s %s goes to %s', (method, path, key, parameters) => {
    const match = matchRoute(routes, method, path);
    expect(match?.route.key).toBe(key);
    expect(match?.pathParameters).toEqual(parameters);
  });

  test('nothing fits where there is no $default', () => {
    expect(matchRoute([routeOf('GET /jobs', 1)], 'HEAD', '/jobs')).toBeUndefined();
  });
});
