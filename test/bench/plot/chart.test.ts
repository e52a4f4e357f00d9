import { expect, test } from 'vitest';
import { type Chart, svg } from './chart.ts';

function chart(over: Partial<Chart> = {}): Chart {
  return { title: 'a soak', across: 'minutes', panels: [], ...over };
}

/** Where the lines go through, by the number of the name; `M` begins a stretch. */
function pathsOf(image: string, n = 0): string[] {
  return [...image.matchAll(/<path class="line line-(\d)" d="(M[^"]*)"\/>/g)]
    .filter(([, number, d]) => Number(number) === n && !d?.endsWith('h26'))
    .map(([, , d]) => d as string);
}

function placesOf(path: string): [x: number, y: number][] {
  return [...path.matchAll(/[ML]([\d.]+) ([\d.]+)/g)].map(([, x, y]) => [Number(x), Number(y)]);
}

test('a line goes from the left to the right edge, and higher where the value is higher', () => {
  const points = [[0, 0], [5, 50], [10, 100]] as const; // biome-ignore format: a line
  const image = svg(chart({ panels: [{ title: 'p', scale: 'linear', lines: [{ name: 'ours', points }] }] }));
  const [grid] = [...image.matchAll(/class="grid" d="M([\d.]+) [\d.]+h([\d.]+)"/g)];
  const [left, width] = [Number(grid?.[1]), Number(grid?.[2])];
  const [first, middle, last] = placesOf(pathsOf(image)[0] as string);
  expect([first?.[0], middle?.[0], last?.[0]]).toEqual([left, left + width / 2, left + width]);
  expect((first?.[1] as number) - (middle?.[1] as number)).toBe((middle?.[1] as number) - (last?.[1] as number));
  expect(first?.[1]).toBeGreaterThan(last?.[1] as number);
});

test('panels lie one below the other, each on a scale of its own', () => {
  const panel = (title: string, y: number) =>
    ({ title, scale: 'linear', lines: [{ name: 'ours', points: [[0, 0], [1, y]] }] }) as const; // biome-ignore format: a line
  const image = svg(chart({ panels: [panel('one', 1), panel('two', 1000)] }));
  const [above, below] = pathsOf(image).map(placesOf);
  const heights = [above, below].map((places) => (places?.[0]?.[1] as number) - (places?.[1]?.[1] as number));
  expect(heights[0]).toBe(heights[1]);
  expect(below?.[1]?.[1]).toBeGreaterThan(above?.[0]?.[1] as number);
});

test('what was not measured is a gap, and what stands alone a dot', () => {
  const points = [[0, 5], [1, 6], [2, null], [3, 7], [4, 0], [5, 8], [6, 9]] as const; // biome-ignore format: a line
  const image = svg(chart({ panels: [{ title: 'p', scale: 'log', lines: [{ name: 'ours', points }] }] }));
  expect(pathsOf(image)[0]?.replaceAll(/[\d.]+ [\d.]+/g, 'p')).toBe('Mph0LpMph0Mph0Lp');
});

test('a name has one colour in all panels, whichever of them it is in', () => {
  const line = (name: string, y: number) => ({ name, points: [[0, y]] as const });
  const panels = [
    { title: 'both', scale: 'linear', lines: [line('ours', 1), line('theirs', 2)] },
    { title: 'one', scale: 'linear', lines: [line('theirs', 2)] },
  ] as const;
  const image = svg(chart({ panels }));
  expect([pathsOf(image, 0).length, pathsOf(image, 1).length]).toEqual([1, 2]);
});

test('every kind of mark has its colour in light and in dark', () => {
  const lines = ['a', 'b', 'c', 'd'].map((name, y) => ({ name, points: [[0, y]] as const }));
  const image = svg(chart({ notes: ['on what'], panels: [{ title: 'p', scale: 'linear', lines }] }));
  const [light, dark] = (/<style>([\s\S]*)<\/style>/.exec(image)?.[1] ?? '').split(
    '@media (prefers-color-scheme: dark)',
  );
  const drawn = [...new Set([...image.matchAll(/class="([^"]+)"/g)].map(([, classes]) => classes as string))];
  expect(drawn.length).toBeGreaterThan(7);
  for (const theme of [light, dark]) {
    const coloured = (mark: string) =>
      new RegExp(`\\.${mark.split(' ').at(-1)}\\b[^}]*(fill|stroke): #`).test(theme ?? '');
    // Texts have that of all texts, if none of their own.
    expect(drawn.filter((mark) => !coloured(mark)).sort()).toEqual(['name', 'panel', 'title']);
    expect(theme).toMatch(/text \{[^}]*fill: #/);
  }
});

test('a name may hold what XML reads as its own', () => {
  const image = svg(chart({ title: 'p99 < 5 & "flat" > 1' }));
  expect(image).toContain('>p99 &#60; 5 &#38; &#34;flat&#34; &#62; 1<');
});

test('a fifth line is refused: there is no colour for it', () => {
  const lines = ['a', 'b', 'c', 'd', 'e'].map((name) => ({ name, points: [[0, 1]] as const }));
  expect(() => svg(chart({ panels: [{ title: 'p', scale: 'linear', lines }] }))).toThrow(RangeError);
});
