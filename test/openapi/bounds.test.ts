import { NOWHERE } from '../contract/cases/case.ts';
import { type Answer, describe, expect, test } from '../functions/api.ts';
import { operations, resolved } from './documented.ts';
import { edgesOf } from './edges.ts';

/*
 * What the document says of a field or parameter, against the handler: values on both sides of each bound. A bound that is
 * written down beside the schema that it describes would else part from it without a word.
 */

const NAMED = { id: NOWHERE, name: 'nowhere' };
const pathOf = (route: string) => route.replace(/\{(\w+)\}/g, (_, name: 'id' | 'name') => NAMED[name]);

describe.each(operations.filter(({ parameters }) => parameters.some((one) => one.in === 'query')))(
  '$route',
  (operation) => {
    const [method = '', path = ''] = pathOf(operation.route).split(' ');
    const ask = (name: string, value: unknown) => ['', new URLSearchParams({ [name]: String(value) })].join('?');

    test.for(operation.parameters.filter((one) => one.in === 'query'))('?$name', async ({ name, schema }, { call }) => {
      const { taken, refused } = edgesOf(schema);
      for (const value of taken) {
        const answer = await call(method, path + ask(name, value));
        expect([200, 404], `${value}: ${answer.text}`).toContain(answer.status);
      }
      for (const value of refused) {
        const answer = await call(method, path + ask(name, value));
        expect(answer.status, `${value}: ${answer.text}`).toBe(400);
        expect(pointersOf(answer)).toEqual([`/${name}`]);
      }
    });

    test('takes no other parameter', async ({ call }) => {
      expect(await call(method, `${path}?another=1`)).toMatchObject({ status: 400 });
    });
  },
);

describe.each(operations.filter(({ body }) => body?.properties !== undefined))('$route', (operation) => {
  const [method = '', path = ''] = pathOf(operation.route).split(' ');
  const members = Object.entries(
    operation.body?.properties as Readonly<Record<string, Readonly<Record<string, unknown>>>>,
  );
  const least = Object.values(operation.bodies)[0] as Record<string, unknown>;

  test.for(members)('%s', async ([name, given], { call }) => {
    const { taken, refused } = edgesOf(resolved(given), least[name]);
    for (const value of taken) {
      const answer = await call(method, path, { body: { ...least, ...WITH[name], [name]: value } });
      expect([200, 201], `${JSON.stringify(value)}: ${answer.text}`).toContain(answer.status);
    }
    for (const value of refused) {
      const answer = await call(method, path, { body: { ...least, ...WITH[name], [name]: value } });
      expect(answer.status, `${JSON.stringify(value)}: ${answer.text}`).toBe(422);
      expect(pointersOf(answer).map((pointer) => pointer.split('/')[1])).toContain(name);
    }
  });

  test('takes no other member', async ({ call }) => {
    const answer = await call(method, path, { body: { ...least, another: 1 } });
    expect(answer.status).toBe(422);
    expect(pointersOf(answer)).toEqual(['/another']);
  });

  test.for((operation.body?.required as string[] | undefined) ?? [])('needs %s', async (name, { call }) => {
    const { [name]: _, ...rest } = least;
    expect(await call(method, path, { body: rest })).toMatchObject({ status: 422 });
  });
});

/** What else a member needs. */
const WITH: Readonly<Record<string, object>> = {
  unique_while: { unique_key: 'customer:7' },
  replace: { unique_key: 'customer:7' },
};

function pointersOf({ body }: Answer): string[] {
  return (body.errors ?? []).map(({ pointer }: { pointer: string }) => pointer);
}
