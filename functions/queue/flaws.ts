/** What is wrong with one place of an input. */
export interface Flaw {
  /** JSON pointer (RFC 6901); empty for the whole. */
  readonly pointer: string;
  /** The rest of a sentence that begins with the place: "must be …", "holds …". */
  readonly detail: string;
}

/** Levels of nesting that are taken: what recurses over a value (zod, JSON.stringify, jsonb) stays far from the end of its stack. */
export const MAX_DEPTH = 100;

/** Enough to mend an input by; a payload can have a hundred thousand flaws. */
export const MAX_FLAWS = 20;

/** Characters of a key that a pointer shows: a key may be as long as the payload. */
const KEY_CHARACTERS = 100;

export function pointerTo(path: readonly PropertyKey[]): string {
  return path.map(pointerStep).join('');
}

function pointerStep(key: PropertyKey): string {
  const name = String(key);
  const shown = name.length > KEY_CHARACTERS ? `${name.slice(0, KEY_CHARACTERS)}…` : name;
  return `/${shown.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** What keeps jsonb from holding a text, if anything does. */
export function textFlaw(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  if (value.includes('\0')) return 'holds a NUL character (\\u0000), which Postgres cannot store';
  if (!value.isWellFormed()) return 'holds half of a surrogate pair, which is not Unicode text';
  return undefined;
}

/** Flaws of a JSON value in the order of the document, at most 20. Iterative, so that depth costs no stack. */
export function flawsOf(
  whole: unknown,
  valueFlaw: (value: unknown) => string | undefined,
  keyFlaw: (key: string) => string | undefined = textFlaw,
): Flaw[] {
  const flaws: Flaw[] = [];
  // What is still to be looked at, the next one last.
  const open: { pointer: string; value: unknown; detail: string | undefined }[] = [];
  const visit = (pointer: string, value: unknown, detail = valueFlaw(value)) => {
    if (detail !== undefined || isContainer(value)) open.push({ pointer, value, detail });
  };
  visit('', whole);
  for (let at = open.pop(); at !== undefined && flaws.length < MAX_FLAWS; at = open.pop()) {
    const { pointer, value, detail } = at;
    if (detail !== undefined) flaws.push({ pointer, detail });
    else if (Array.isArray(value)) {
      for (let index = value.length - 1; index >= 0; index--) visit(`${pointer}/${index}`, value[index]);
    } else {
      for (const [key, child] of Object.entries(value as object).reverse()) {
        const flaw = keyFlaw(key);
        visit(pointer + pointerStep(key), child, flaw && `is a key that ${flaw}`);
      }
    }
  }
  return flaws;
}

export function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
