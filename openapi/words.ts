import type { JsonSchema } from './json-schema.ts';

/** What people read of a field, and what its schema cannot say: a refinement and the wire form of a transform are code. */
export type Words = Readonly<Record<string, JsonSchema & { readonly description: string }>>;

/**
 * The schema with words for each of its members, in the order of the words.
 * @throws Error naming a member without words, or words without a member
 */
export function worded(schema: JsonSchema, words: Words): JsonSchema {
  const members = schema.properties as Readonly<Record<string, JsonSchema>>;
  const unknown = Object.keys(words).filter((name) => !Object.hasOwn(members, name));
  const silent = Object.keys(members).filter((name) => !Object.hasOwn(words, name));
  if (unknown.length + silent.length > 0) {
    throw new Error(`words without a member: ${unknown.join(', ')}; members without words: ${silent.join(', ')}`);
  }
  const properties = Object.fromEntries(
    Object.entries(words).map(([name, own]) => [name, { ...(own.type === undefined && members[name]), ...own }]),
  );
  return { ...schema, properties };
}
