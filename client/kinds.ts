/**
 * What the client needs to know of contracts: the kinds' names, and what each payload takes. Only the type is used, so
 * neither the schemas nor zod get into a producer's bundle. (`~standard` is where every schema keeps its types.)
 */
export type Kinds = Readonly<
  Record<string, { readonly payload: { readonly '~standard': { readonly types?: Types | undefined } } }>
>;

interface Types {
  readonly input: unknown;
}

export type KindOf<C extends Kinds> = keyof C & string;

/** What a producer gives: before the schema's defaults and transformations. */
export type PayloadOf<C extends Kinds, Kind extends KindOf<C>> = NonNullable<
  C[Kind]['payload']['~standard']['types']
>['input'];
