import { describe, expect, test } from 'vitest';
import { Client, type ClientOptions } from '../../client/index.ts';
import { ID, job, json, serve } from './server.ts';

describe('options', () => {
  test.each<[string, Partial<ClientOptions>, RegExp]>([
    ['no URL', { url: 'jobs.example' }, /^url must be an http\(s\) URL/],
    ['another scheme', { url: 'ftp://jobs.example' }, /^url must be/],
    ['credentials in the URL', { url: 'https://ci:secret@jobs.example' }, /^url must be/],
    ['a query', { url: 'https://jobs.example/?a=1' }, /^url must be/],
    ['a fragment', { url: 'https://jobs.example/#a' }, /^url must be/],
    ['a token with its line end', { token: 'mlr_secret\n' }, /^token must be printable ASCII/],
    ['an empty token', { token: '' }, /^token must be/],
    ['a negative number of retries', { retries: -1 }, /^retries must be 0 or more, not -1/],
    ['half a retry', { retries: 0.5 }, /^retries must be/],
    ['no time', { timeoutSeconds: 0 }, /^timeoutSeconds must be above 0 and at most 86,400, not 0/],
    ['time without end', { timeoutSeconds: Number.POSITIVE_INFINITY }, /^timeoutSeconds must be/],
    ['no number', { tryTimeoutSeconds: Number.NaN }, /^tryTimeoutSeconds must be/],
  ])('are refused at once: %s', (_, options, message) => {
    expect(() => new Client({ url: 'https://jobs.example', ...options })).toThrow(message);
  });

  test('that are refused do not show the token or the password', () => {
    for (const options of [{ token: 'sec ret' }, { url: 'https://ci:secret@jobs.example' }]) {
      expect(() => new Client({ url: 'https://jobs.example', ...options })).toThrow(/^(?!.*sec ?ret)/);
    }
  });

  test.each(['', '/', '/prod', '/prod/jobs/'])('a URL may end in "%s"', async (prefix) => {
    const server = await serve(json(200, job()));
    await new Client({ url: server.url + prefix }).get(ID);
    expect(server.seen[0]?.target).toBe(`${prefix.replace(/\/$/, '')}/jobs/${ID}`);
  });

  test('a URL may be a URL, and fetch may be given', async () => {
    const asked: string[] = [];
    const client = new Client({
      url: new URL('https://jobs.example/prod'),
      fetch: async ({ url, method }) => {
        asked.push(`${method} ${url}`);
        return Response.json(job());
      },
    });
    await client.get(ID);
    expect(asked).toEqual([`GET https://jobs.example/prod/jobs/${ID}`]);
  });

  test('the runtime’s fetch is looked up at each call and called without an object', async () => {
    const own = globalThis.fetch;
    const client = new Client({ url: 'https://jobs.example' });
    try {
      globalThis.fetch = async function (this: unknown) {
        expect([undefined, globalThis]).toContain(this);
        return Response.json(job());
      };
      expect((await client.get(ID)).id).toBe(ID);
    } finally {
      globalThis.fetch = own;
    }
  });

  test.each([
    ['a space', 'a b'],
    ['too long', 'x'.repeat(129)],
    ['empty', ''],
  ])('a request id that the API would not take is refused: %s', async (_, requestId) => {
    await expect(new Client({ url: 'https://jobs.example' }).get(ID, { requestId })).rejects.toThrow(
      /^requestId must match/,
    );
  });
});
