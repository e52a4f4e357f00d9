import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** A checkout that has what the builder reads, and cannot be compiled: what is tried here comes before that. */
function checkout(): string {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-pack-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const path of ['package.json', 'bin/pack.ts', 'bin/pack']) {
    cpSync(join(root, path), join(folder, path), { recursive: true });
  }
  mkdirSync(join(folder, 'docs'));
  writeFileSync(join(folder, 'docs', 'guide.md'), 'A guide.');
  return folder;
}

function build(folder: string, ...args: string[]): { errors: string; refused: boolean } {
  const { status, stderr } = spawnSync(process.execPath, [join(folder, 'bin/pack.ts'), ...args], { encoding: 'utf8' });
  expect(status).toBe(1);
  return { errors: stderr, refused: stderr.includes('holds what npm run build has not made') };
}

test.for([['.'], ['docs'], ['..'], ['bin']])('a folder that holds something else is left alone: --out %s', ([out]) => {
  const folder = checkout();
  expect(build(folder, '--out', out as string)).toMatchObject({ refused: true });
  expect(existsSync(join(folder, 'package.json'))).toBe(true);
  expect(existsSync(join(folder, 'docs', 'guide.md'))).toBe(true);
});

test('a folder that is empty, or that a build has begun to fill, is filled', () => {
  const folder = checkout();
  mkdirSync(join(folder, 'out'));
  // What fails then is that there is no compiler.
  expect(build(folder, '--out', 'out')).toMatchObject({
    refused: false,
    errors: expect.stringContaining('typescript'),
  });
  expect(existsSync(join(folder, 'out', 'package.json'))).toBe(true);
  expect(build(folder, '--out', 'out')).toMatchObject({
    refused: false,
    errors: expect.stringContaining('typescript'),
  });
});
