import { type Scale, type ScaleKind, scaleOf } from './scale.ts';
import { COLOURS, STYLE } from './style.ts';

/** Panels one below the other over one x axis. A name has the same colour in all of them. */
export interface Chart {
  readonly title: string;
  /** What a reader must know to judge it, a line each: on what it was measured, and when. */
  readonly notes?: readonly string[];
  /** What the x axis is, with its unit. */
  readonly across: string;
  readonly panels: readonly Panel[];
}

export interface Panel {
  /** With the unit. */
  readonly title: string;
  readonly scale: ScaleKind;
  readonly lines: readonly Line[];
}

export interface Line {
  readonly name: string;
  /** In the order of x. */
  readonly points: readonly Point[];
}

/** Where y is null, or not above 0 on a logarithmic scale, the line has a gap. */
export type Point = readonly [x: number, y: number | null];

const WIDTH = 760;
const LEFT = 58;
const RIGHT = 18;
const PLOT = { width: WIDTH - LEFT - RIGHT, height: 104 };
const PANEL_HEIGHT = PLOT.height + 44;
const FOOT = 36;
const TEXT_LINE = 17;

/**
 * An image that stands by itself: no script, no font and no other file; colours of its own for light and dark.
 * @throws RangeError for more than four names
 */
export function svg({ title, notes = [], across, panels }: Chart): string {
  const names = [...new Set(panels.flatMap(({ lines }) => lines.map(({ name }) => name)))];
  if (names.length > COLOURS) throw new RangeError(`there are colours for ${COLOURS} lines, not for ${names.length}`);
  const head = 50 + TEXT_LINE * notes.length;
  const foot = head + panels.length * PANEL_HEIGHT;
  const points = panels.flatMap(({ lines }) => lines.flatMap((line) => line.points));
  const x = scaleOf(
    'linear',
    points.map(([at]) => at),
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${foot + FOOT}" role="img" aria-labelledby="name">`,
    `<title id="name">${escaped(title)}</title>`,
    `<style>${STYLE}</style>`,
    `<rect class="paper" width="${WIDTH}" height="${foot + FOOT}"/>`,
    text('title', LEFT, 26, title),
    ...notes.map((note, n) => text('note', LEFT, 26 + TEXT_LINE * (n + 1), note)),
    ...names.flatMap((name, n) => legend(name, n, head - 4)),
    ...panels.flatMap((panel, n) => drawn(panel, { names, x, top: head + n * PANEL_HEIGHT + 30 })),
    ...x.ticks.map((tick) => text('tick', along(x, tick), foot + 6, short(tick), 'middle')),
    text('tick', LEFT + PLOT.width / 2, foot + 24, across, 'middle'),
    '</svg>\n',
  ].join('\n');
}

function legend(name: string, n: number, y: number): string[] {
  const x = LEFT + n * 170;
  return [`<path class="line line-${n}" d="M${x} ${y - 4}h26"/>`, text('name', x + 34, y, name)];
}

interface Place {
  /** Of the chart, in the order of their colours. */
  readonly names: readonly string[];
  readonly x: Scale;
  /** Of the plot, below its title. */
  readonly top: number;
}

function drawn({ title, scale, lines }: Panel, { names, x, top }: Place): string[] {
  const values = lines.flatMap(({ points }) => points.map(([, y]) => y ?? Number.NaN));
  const y = scaleOf(scale, values);
  const down = (share: number) => round(top + (1 - share) * PLOT.height);
  const grid = y.ticks.flatMap((tick) => {
    const at = down(y.at(tick) as number);
    return [
      `<path class="grid" d="M${LEFT} ${at}h${PLOT.width}"/>`,
      text('tick', LEFT - 8, at + 4, short(tick), 'end'),
    ];
  });
  const paths = lines.map((line) => {
    const places = line.points.map(([at, value]) => {
      const share = value === null ? undefined : y.at(value);
      return share === undefined ? undefined : `${along(x, at)} ${down(share)}`;
    });
    return `<path class="line line-${names.indexOf(line.name)}" d="${pathThrough(places)}"/>`;
  });
  return [text('panel', LEFT, top - 10, title), ...grid, ...paths];
}

/** A place alone between two gaps is a dot: a line of no length with round ends. */
function pathThrough(places: readonly (string | undefined)[]): string {
  return places
    .map((place, n) => {
      if (place === undefined) return '';
      return places[n - 1] === undefined ? `M${place}h0` : `L${place}`;
    })
    .join('');
}

function along(x: Scale, value: number): number {
  return round(LEFT + (x.at(value) ?? 0) * PLOT.width);
}

function text(kind: string, x: number, y: number, says: string, anchor = 'start'): string {
  return `<text class="${kind}" x="${x}" y="${y}" text-anchor="${anchor}">${escaped(says)}</text>`;
}

/** `0`, `250`, `2.5K`, `0.01`, `1.2M` */
function short(value: number): string {
  return value.toLocaleString('en', { notation: 'compact', maximumSignificantDigits: 3 });
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function escaped(says: string): string {
  return says.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
