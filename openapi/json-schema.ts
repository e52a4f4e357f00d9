import * as z from 'zod';

/** JSON Schema 2020-12, which is what OpenAPI 3.1 takes. */
export type JsonSchema = Record<string, unknown>;

const SCHEMAS = '#/components/schemas/';

/** `{ $ref }` to a schema of `components`. */
export function refTo(name: string): JsonSchema {
  return { $ref: SCHEMAS + name };
}

/** What an answer may look like, by name. What is registered refers to each other by `$ref`. */
export function answerSchemas(registry: z.core.$ZodRegistry<{ id: string }>): Record<string, JsonSchema> {
  const { schemas } = z.toJSONSchema(registry, {
    uri: (id) => SCHEMAS + id,
    override: ({ jsonSchema }) => {
      // The tests hold answers to exactly these members. Clients must not: others may come.
      delete jsonSchema.additionalProperties;
      simplify(jsonSchema as JsonSchema);
    },
  });
  return Object.fromEntries(Object.entries(schemas).map(([id, schema]) => [id, bare(schema as JsonSchema)]));
}

/** What a request may look like, before any default or transform. Members that are not named are refused. */
export function requestSchema(schema: z.ZodType): JsonSchema {
  const override = ({ jsonSchema }: { jsonSchema: object }) => simplify(jsonSchema as JsonSchema);
  return bare(z.toJSONSchema(schema, { io: 'input', override }) as JsonSchema);
}

function bare({ $schema: _schema, $id: _id, ...rest }: JsonSchema): JsonSchema {
  return rest;
}

/** Says the same with less: null is a type, a format needs no pattern beside it, a safe integer no bound. */
function simplify(schema: JsonSchema): void {
  const [one, none, ...more] = (schema.anyOf as JsonSchema[] | undefined) ?? [];
  if (typeof one?.type === 'string' && none?.type === 'null' && more.length === 0) {
    delete schema.anyOf;
    Object.assign(schema, one, { type: [one.type, 'null'] });
  }
  if (schema.format !== undefined) delete schema.pattern;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
}
