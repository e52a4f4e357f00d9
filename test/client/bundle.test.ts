import { fileURLToPath } from 'node:url';
import { createContext, runInContext } from 'node:vm';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { expect, test } from 'vitest';
import { ID, job, json, serve } from './server.ts';

const entry = fileURLToPath(new URL('../../client/index.ts', import.meta.url));

async function bundle(format: 'esm' | 'iife' = 'esm') {
  const { metafile, outputFiles } = await build({
    entryPoints: [entry],
    absWorkingDir: fileURLToPath(new URL('../../', import.meta.url)),
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    // Knows no module of Node: an import of one would fail.
    platform: 'neutral',
    format,
    ...(format === 'iife' && { globalName: 'millrace' }),
  });
  return { inputs: Object.keys(metafile.inputs), code: outputFiles[0]?.text ?? expect.fail() };
}

test('the client is small, and is made of nothing but its own files', async () => {
  const { inputs, code } = await bundle();
  expect(inputs.filter((path) => !path.startsWith('client/'))).toEqual([]);
  expect(gzipSync(code, { level: 9 }).length).toBeLessThanOrEqual(6 * 1024);
});

test('it needs no more of its host than what the web has', async () => {
  const { code } = await bundle('iife');
  const server = await serve(json(201, { ...job(), outcome: 'created' }));
  // No process, Buffer, require, global, setImmediate: just these.
  const web = { AbortController, crypto, fetch, Headers, performance, Request, setTimeout, clearTimeout, URL };
  const context = createContext({ ...web, address: server.url });
  const script = `${code}; new millrace.Client({ url: address }).enqueue('hello.greet', { name: 'Ada' })`;
  expect(await runInContext(script, context)).toMatchObject({ id: ID, outcome: 'created' });
});

test('it is imported by its name', async () => {
  const { Client, ApiError } = await import('millrace/client');
  const server = await serve(json(200, job()));
  expect((await new Client({ url: server.url }).get(ID)).id).toBe(ID);
  expect(ApiError.name).toBe('ApiError');
});
