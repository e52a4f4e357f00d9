import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { PROBLEMS } from '../../functions/lambda/problems.ts';
import { ROUTES } from '../../functions/lambda/routes.ts';
import { OPENAPI_FILE, openApiText } from '../../openapi/file.ts';
import { documented, operations } from './documented.ts';

test('docs/openapi.json is what npm run openapi writes', async () => {
  expect(await readFile(OPENAPI_FILE, 'utf8')).toBe(openApiText());
});

describe('the document', () => {
  test('has every route, for the roles that may use it', () => {
    const rules = Object.entries(ROUTES).map(([route, rule]) => [route, 'public' in rule ? [] : rule.roles]);
    const described = operations.map(({ route, roles }) => [route, roles]);
    expect(described.sort()).toEqual(rules.sort());
  });

  test('has every problem with some route, but those of no route', () => {
    const names = new Set(documented.filter(({ isProblem }) => isProblem).map(({ name }) => name));
    const others = Object.keys(PROBLEMS).filter((name) => !names.has(name));
    expect(others).toEqual(['no-such-route', 'method-not-allowed']);
  });

  test('has each problem below its own status', () => {
    for (const { status, name, isProblem } of documented) {
      if (isProblem) expect(PROBLEMS[name as keyof typeof PROBLEMS].status, name).toBe(status);
    }
  });

  test('shows what was answered in each case', () => {
    const empty = documented.filter(({ name, example }) => name !== undefined && example === undefined);
    expect(empty.map(({ key }) => key)).toEqual([]);
  });
});
