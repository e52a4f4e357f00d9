/** What takes two columns: East Asian wide and fullwidth (Unicode TR 11), and what is shown as a picture. */
const WIDE =
  /^(?:[\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uA960-\uA97C\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF01-\uFF60\uFFE0-\uFFE6\u{1F200}-\u{1F2FF}\u{20000}-\u{3FFFD}]|\p{Emoji_Presentation}|\p{Emoji}\uFE0F)/u;
/** Most texts: a column for each character. */
const PLAIN = /^[\x20-\x7E]*$/;
const MARK = /^\p{M}/u;

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** Columns that a text without control characters takes on a terminal. */
export function widthOf(text: string): number {
  if (PLAIN.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += columnsOf(segment);
  return width;
}

/** The text in at most so many columns; what had to go is an ellipsis at its end. */
export function cut(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  let kept = '';
  let width = 0;
  for (const { segment } of graphemes.segment(text)) {
    width += columnsOf(segment);
    if (width > columns - 1) break;
    kept += segment;
  }
  return columns < 1 ? '' : `${kept}…`;
}

function columnsOf(grapheme: string): number {
  if (MARK.test(grapheme)) return 0;
  return WIDE.test(grapheme) ? 2 : 1;
}
