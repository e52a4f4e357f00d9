import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { lambdaContext } from './context.ts';
import type { Ending, Invocation, ThrownError } from './function.ts';

export type Handler = (event: unknown, context: unknown) => unknown;

/** Imports `file.export` from a bundle's folder. */
export async function loadHandler(directory: string, handler: string): Promise<Handler> {
  const dot = handler.lastIndexOf('.');
  const file = ['.js', '.mjs', '.cjs']
    .map((ending) => join(directory, handler.slice(0, dot) + ending))
    .find(existsSync);
  if (file === undefined) throw new Error(`the bundle ${directory} has no file for the handler ${handler}`);
  const exports = (await import(pathToFileURL(file).href)) as Record<string, unknown>;
  const name = handler.slice(dot + 1);
  const found = exports[name] ?? (exports.default as Record<string, unknown> | undefined)?.[name];
  if (typeof found !== 'function') throw new Error(`${file} does not export ${name}`);
  return found as Handler;
}

/** Calls the handler once. Never rejects. */
export async function handle(handler: Handler, invocation: Invocation): Promise<Ending> {
  try {
    const result = await handler(invocation.event, lambdaContext(invocation, process.env));
    return { kind: 'returned', json: JSON.stringify(result) ?? 'null' };
  } catch (error) {
    return { kind: 'threw', error: thrown(error) };
  }
}

export function thrown(error: unknown): ThrownError {
  if (!(error instanceof Error)) return { name: 'Error', message: String(error) };
  return { name: error.name, message: error.message, ...(error.stack !== undefined && { stack: error.stack }) };
}
