import document from '../../docs/openapi.json' with { type: 'json' };

/** docs/openapi.json as the tests read it: whatever is documented there must be so. */

type Json = Record<string, unknown>;

interface Media {
  readonly schema: Json;
  readonly examples?: Readonly<Record<string, Json>>;
}

export interface DocumentedOperation {
  readonly id: string;
  /** `POST /jobs`. */
  readonly route: string;
  readonly roles: readonly string[];
  readonly parameters: readonly DocumentedParameter[];
  /** Schema of what it takes. */
  readonly body: Json | undefined;
  /** Bodies that it shows, by name. */
  readonly bodies: Readonly<Record<string, unknown>>;
}

export interface DocumentedParameter {
  readonly name: string;
  readonly in: 'query' | 'path' | 'header';
  readonly schema: Json;
}

/** One way in which a route may answer. */
export interface DocumentedAnswer {
  /** `enqueue 201 created`; without a name where the document shows no body. */
  readonly key: string;
  readonly operation: DocumentedOperation;
  readonly status: number;
  readonly name: string | undefined;
  readonly contentType: string | undefined;
  readonly schema: Json | undefined;
  readonly example: unknown;
  /** Names of the headers, in lower case, that it may have. */
  readonly headers: readonly string[];
  readonly isProblem: boolean;
}

export const operations: readonly DocumentedOperation[] = Object.entries(document.paths as Json).flatMap(
  ([path, item]) =>
    Object.entries(item as Json)
      .filter(([method]) => method !== 'parameters')
      .map(([method, operation]) => operationOf(`${method.toUpperCase()} ${path}`, item as Json, operation as Json)),
);

export const documented: readonly DocumentedAnswer[] = operations.flatMap(answersOf);

function operationOf(route: string, item: Json, operation: Json): DocumentedOperation {
  const parameters = [...list(item.parameters), ...list(operation.parameters)].map(resolved);
  const body = (operation.requestBody as { content: Record<string, Media> } | undefined)?.content['application/json'];
  return {
    id: String(operation.operationId),
    route,
    roles: list(operation.security).flatMap((requirement) => requirement.token as string[]),
    parameters: parameters as unknown as DocumentedParameter[],
    body: body && resolved(body.schema),
    bodies: Object.fromEntries(Object.entries(body?.examples ?? {}).map(([name, { value }]) => [name, value])),
  };
}

function answersOf(operation: DocumentedOperation): DocumentedAnswer[] {
  const [method = '', path = ''] = operation.route.split(' ');
  const item = (document.paths as unknown as Record<string, Record<string, { responses: Record<string, Json> }>>)[path];
  return Object.entries(item?.[method.toLowerCase()]?.responses ?? {}).flatMap(([status, given]) => {
    const response = resolved(given);
    const content = Object.entries((response.content as Record<string, Json> | undefined) ?? {});
    const headers = Object.keys((response.headers as Json | undefined) ?? {}).map((name) => name.toLowerCase());
    const shared = { operation, status: Number(status), headers };
    if (content.length === 0) return [answerOf(shared, undefined, undefined, {})];
    return content.flatMap(([contentType, media]) => {
      const examples = Object.entries((media.examples as Record<string, Json> | undefined) ?? { '': {} });
      return examples.map(([name, example]) =>
        answerOf(shared, name || undefined, contentType, { ...media, ...example }),
      );
    });
  });
}

function answerOf(
  shared: Pick<DocumentedAnswer, 'operation' | 'status' | 'headers'>,
  name: string | undefined,
  contentType: string | undefined,
  { schema, value }: Json,
): DocumentedAnswer {
  return {
    ...shared,
    key: [shared.operation.id, shared.status, name].filter((part) => part !== undefined).join(' '),
    name,
    contentType,
    schema: schema as Json | undefined,
    example: value,
    isProblem: contentType === 'application/problem+json',
  };
}

function list(value: unknown): Json[] {
  return (value as Json[] | undefined) ?? [];
}

/** Follows a `$ref` within the document. */
export function resolved(value: Json): Json {
  if (typeof value.$ref !== 'string') return value;
  const steps = value.$ref.split('/').slice(1);
  return steps.reduce<unknown>((at, step) => (at as Json)[step], document) as Json;
}
