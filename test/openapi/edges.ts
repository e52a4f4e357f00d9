type Schema = Readonly<Record<string, unknown>>;

/** Values on both sides of what a schema of the document allows. */
export interface Edges {
  readonly taken: readonly unknown[];
  readonly refused: readonly unknown[];
}

const TIMES: Edges = {
  taken: ['2026-03-01T09:00:00Z', '2026-03-01T10:00:00.123456+01:00'],
  refused: ['', '2026-03-01', '2026-03-01T09:00:00', '2026-02-30T09:00:00Z', 'tomorrow'],
};

/** `sample`: a value that is taken. */
export function edgesOf(schema: Schema, sample?: unknown): Edges {
  if (Array.isArray(schema.enum)) return { taken: schema.enum, refused: ['', 'another'] };
  if (schema.format === 'date-time') return TIMES;
  if (schema.pattern !== undefined) return namesOf(String(schema.pattern), schema.examples as string[] | undefined);
  switch (schema.type) {
    case 'boolean':
      return { taken: [true, false], refused: ['', 'yes', 1] };
    case 'integer':
    case 'number':
      return numbersOf(schema);
    case 'string':
      return textsOf(schema);
    case 'array':
      return listsOf(schema, sample as unknown[] | undefined);
    default:
      return { taken: (schema.examples as unknown[] | undefined) ?? [], refused: [] };
  }
}

function numbersOf({ type, minimum, maximum }: Schema): Edges {
  const [least, most] = [Number(minimum), Number(maximum)];
  return {
    taken: [least, most],
    refused: [least - 1, most + 1, '', 'many', ...(type === 'integer' ? [least + 0.5] : [])],
  };
}

/** A character beyond U+FFFF is one, not the two of UTF-16. */
function textsOf({ minLength = 0, maxLength }: Schema): Edges {
  if (maxLength === undefined) return { taken: [], refused: [] };
  const [least, most] = [Number(minLength), Number(maxLength)];
  return {
    taken: ['a'.repeat(Math.max(1, least)), '😀'.repeat(most)],
    refused: ['a'.repeat(most + 1), ...(least > 0 ? [''] : [])],
  };
}

/** Of the one pattern that there is: names of kinds and queues. With examples only these are taken: kinds that are known. */
function namesOf(pattern: string, examples: readonly string[] | undefined): Edges {
  const values = ['a', 'A.b_c:d-9', 'a'.repeat(100), '', '-a', 'a b', 'ä', 'a'.repeat(101)];
  const fits = (value: string) => new RegExp(pattern).test(value);
  return { taken: examples ?? values.filter(fits), refused: values.filter((value) => !fits(value)) };
}

function listsOf({ items, minItems, maxItems }: Schema, sample: readonly unknown[] = []): Edges {
  const { taken, refused } = edgesOf(items as Schema);
  const item = taken[0] ?? sample[0];
  const of = (length: unknown) => Array(Number(length)).fill(item);
  return {
    taken: [[item], ...(taken.length > 0 ? [taken] : []), of(maxItems ?? 1)],
    refused: [
      ...refused.map((one) => [one]),
      ...(minItems === undefined ? [] : [of(Number(minItems) - 1)]),
      ...(maxItems === undefined ? [] : [of(Number(maxItems) + 1)]),
    ],
  };
}
