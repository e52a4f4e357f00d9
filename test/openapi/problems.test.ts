import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { PROBLEMS } from '../../functions/lambda/problems.ts';
import { GATEWAY } from '../../openapi/responses.ts';

const page = await readFile(new URL('../../docs/problems.md', import.meta.url), 'utf8');
const [ours = '', gateways = ''] = page.split('## What the gateway says');

describe('docs/problems.md', () => {
  test('has each problem in its order, with its status and whether to send again', () => {
    const expected = Object.entries(PROBLEMS).map(([name, problem]) => [
      `[\`${name}\`](#${name})`,
      String(problem.status),
      'retryAfterSeconds' in problem ? 'yes' : problem.status === 500 ? 'maybe' : 'no',
    ]);
    expect(rowsOf(ours)).toEqual(expected);
  });

  test('says of each what it means and what to do', () => {
    const sections = ours.split(/^### /m).slice(1);
    expect(sections.map((section) => section.split('\n')[0])).toEqual(Object.keys(PROBLEMS));
    for (const section of sections) expect(section.trim()).toMatch(/^.+\n\n[A-Z][\s\S]*[.]\s[\s\S]*\.$/);
  });

  test('has all that the gateway says', () => {
    const expected = Object.values(GATEWAY).map(({ status, message }) => [String(status), `\`${message}\``]);
    expect(rowsOf(gateways).map((row) => row.slice(0, 2))).toEqual(expected);
  });

  test('its example is a problem of ours', () => {
    const { type, title, status } = JSON.parse(/```json\n([\s\S]*?)```/.exec(ours)?.[1] ?? '');
    const name = type.replace('urn:millrace:problem:', '') as keyof typeof PROBLEMS;
    expect(PROBLEMS[name]).toEqual({ status, title });
  });
});

/** Cells of a table's rows, without its head. */
function rowsOf(text: string): string[][] {
  const lines = text.split('\n').filter((line) => line.startsWith('|'));
  return lines.slice(2).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}
