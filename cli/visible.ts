/** Control characters, what turns the direction of writing, invisible separators, and halves of surrogate pairs. */
const HIDDEN = /[\p{Cc}\p{Cs}\u061C\u200B\u200E\u200F\u2028-\u202E\u2060-\u2069\uFEFF]/gu;

const NAMED: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/**
 * Text from the database as a terminal may get it, on one line: what it would act on, or not show, is written out
 * (`\x1b[2J`). A job's subject can be anybody's input.
 */
export function visible(text: string): string {
  return text.replace(HIDDEN, (character) => NAMED[character] ?? escaped(character.codePointAt(0) ?? 0));
}

/** The same of a text of several lines, which stay lines. */
export function visibleLines(text: string): string[] {
  return text.split(/\r?\n/).map(visible);
}

function escaped(code: number): string {
  return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u{${code.toString(16)}}`;
}
