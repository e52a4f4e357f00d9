import { PROBLEMS, type ProblemName } from '../functions/lambda/problems.ts';
import { ROLES, type Role } from '../functions/lambda/role.ts';
import { CONTENT_ROLES, ROUTES, type RouteKey, type RouteRule } from '../functions/lambda/routes.ts';
import { answerRegistry } from './answers.ts';
import { recorded } from './examples.ts';
import { answerSchemas, refTo } from './json-schema.ts';
import { OPERATIONS, type Operation } from './operations.ts';
import { PARAMETERS } from './parameters.ts';
import { REQUESTS } from './requests.ts';
import { answer, failure, type GatewayCase, HEADERS, RESPONSES, type Response } from './responses.ts';
import { about, flowing, TAGS, TOKENS } from './text.ts';

/** The whole API as OpenAPI 3.1. `version` is that of the package. */
export function openApiDocument(version: string): Record<string, unknown> {
  return {
    openapi: '3.1.1',
    info: {
      title: 'Millrace',
      version,
      summary: 'A serverless job queue on the Postgres you already run.',
      description: about,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/', description: 'The API that served this document; `npm start` is http://127.0.0.1:3000.' }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths: paths(),
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer', bearerFormat: 'mlr_…', description: TOKENS } },
      parameters: PARAMETERS,
      headers: Object.fromEntries(Object.entries(HEADERS).map(([name, { name: _name, ...header }]) => [name, header])),
      responses: RESPONSES,
      schemas: { ...REQUESTS, ...answerSchemas(answerRegistry) },
    },
  };
}

function paths(): Record<string, Record<string, unknown>> {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const [key, operation] of Object.entries(OPERATIONS)) {
    const [method = '', path = ''] = key.split(' ');
    paths[path] ??= { parameters: [...pathParameters(path), 'RequestId', 'Traceparent'].map(parameterRef) };
    paths[path][method.toLowerCase()] = operationOf(key as RouteKey, operation);
  }
  return paths;
}

const NAMES = { queues: 'QueueName', kinds: 'KindName', schedules: 'ScheduleName' };

function pathParameters(path: string): string[] {
  if (path.includes('{id}')) return ['JobId'];
  if (!path.includes('{name}')) return [];
  return [NAMES[path.split('/')[1] as keyof typeof NAMES]];
}

const parameterRef = (name: string) => ({ $ref: `#/components/parameters/${name}` });

function operationOf(key: RouteKey, operation: Operation): Record<string, unknown> {
  const { id, tag, summary, parameters = [], body } = operation;
  const description = flowing(operation.description);
  const rule: RouteRule = ROUTES[key];
  return {
    operationId: id,
    tags: [tag],
    summary,
    description: rule.public ? description : `${description}\n\n${rolesText(rule.roles)}`,
    security: rule.public ? [] : rule.roles.map((role) => ({ token: [role] })),
    ...(parameters.length > 0 && { parameters: parameters.map(parameterRef) }),
    ...(body && {
      requestBody: {
        required: true,
        content: { 'application/json': { schema: refTo(body.schema), examples: body.examples } },
      },
    }),
    responses: responsesOf(key, operation, rule),
  };
}

function rolesText(roles: readonly Role[]): string {
  return roles.length === ROLES.length ? 'Any role.' : `Role: ${roles.map((role) => `\`${role}\``).join(' or ')}.`;
}

function responsesOf(key: RouteKey, operation: Operation, rule: RouteRule): Record<string, unknown> {
  const { id, answers, problems = [], database, body } = operation;
  const of = recorded(id);
  const byStatus = Map.groupBy(problems, (name) => PROBLEMS[name].status as number);
  const gateway: Record<number, readonly GatewayCase[]> = body ? { 413: ['gateway-too-large'] } : {};
  const own: [status: number, response: Response][] = [
    ...answers.map((one): [number, Response] => [one.status, answer(one, of)]),
    ...[...byStatus].map(([status, names]): [number, Response] => [
      status,
      failure(status, names, gateway[status] ?? [], of),
    ]),
  ];
  if (!rule.public) {
    const forbidden: ProblemName[] = isRefusedToSome(key, rule) ? ['forbidden'] : [];
    own.push([401, responseRef('NoToken')], [403, failure(403, forbidden, ['unknown-token'], of)]);
  }
  own.push(
    [429, responseRef('Throttled')],
    [500, responseRef(database ? 'Failed' : 'GatewayFailed')],
    [503, responseRef(database ? 'Unavailable' : 'GatewayUnavailable')],
  );
  return Object.fromEntries(own);
}

function isRefusedToSome(key: RouteKey, { roles }: RouteRule): boolean {
  return roles.length < ROLES.length || (key === 'GET /jobs/{id}' && CONTENT_ROLES.length < ROLES.length);
}

const responseRef = (name: keyof typeof RESPONSES) => ({ $ref: `#/components/responses/${name}` });
