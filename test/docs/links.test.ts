import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';
import { root } from './blocks.ts';

const pages = (await readdir(join(root, 'docs'), { recursive: true }))
  .filter((name) => name.endsWith('.md'))
  .map((name) => `docs/${name}`);
const texts = new Map<string, string>();
for (const page of ['README.md', ...pages]) texts.set(page, await readFile(join(root, page), 'utf8'));

describe('links', () => {
  test.each([...texts.keys()])('%s leads to what is there', async (page) => {
    for (const { file, anchor, target } of linksOf(page)) {
      const found = await readFile(join(root, file), 'utf8').catch(() => undefined);
      expect(found, `${page}: ${target}`).toBeDefined();
      if (anchor !== undefined) expect(anchorsOf(found as string), `${page}: ${target}`).toContain(anchor);
    }
  });

  test('every page is in the table of the README, or in that of docs/README.md', () => {
    const listed = ['README.md', 'docs/README.md'].flatMap((page) => linksOf(page).map(({ file }) => file));
    expect(pages.filter((page) => !listed.includes(page))).toEqual([]);
  });
});

/** Where a page leads within the repository; not what it only shows in a block. */
function linksOf(page: string) {
  const text = (texts.get(page) as string).replaceAll(/^```[\s\S]*?^```$/gm, '');
  return [...text.matchAll(/\]\((?!https?:)([^)\s]*)\)/g)].map(([, target = '']) => {
    const [path = '', anchor] = target.split('#');
    return { file: path === '' ? page : normalize(join(dirname(page), path)), anchor, target };
  });
}

/** As GitHub makes them of headings. */
function anchorsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\s-]/g, '')
      .replaceAll(' ', '-'),
  );
}
