import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { resolve } from 'node:path';

/**
 * The line of a module from which an error came, which most often names the kind whose contract it is about. `code` is what
 * esbuild made of the module, with its source map. undefined if no line of the module had to do with it.
 */
export function lineOf(error: unknown, path: string, code: string): { number: number; text: string } | undefined {
  const [, data] = /\n\/\/# sourceMappingURL=data:application\/json;base64,(\S+)/.exec(code) ?? [];
  if (data === undefined || !(error instanceof Error)) return undefined;
  const map = new SourceMap(JSON.parse(Buffer.from(data, 'base64').toString()));
  for (const [line, column] of framesIn(error.stack ?? '', path)) {
    const entry = map.findEntry(line - 1, column - 1);
    if (!('originalSource' in entry) || resolve(entry.originalSource) !== path) continue;
    const text = readFileSync(path, 'utf8').split('\n')[entry.originalLine] ?? '';
    return { number: entry.originalLine + 1, text: text.trim().slice(0, 100) };
  }
  return undefined;
}

/** Lines and columns of the frames in the evaluated text, which goes by the module's path; the innermost first. */
function framesIn(stack: string, path: string): [line: number, column: number][] {
  return stack.split('\n').flatMap((frame): [number, number][] => {
    const at = frame.indexOf(`${path}:`);
    const [, line, column] = /^(\d+):(\d+)/.exec(at < 0 ? '' : frame.slice(at + path.length + 1)) ?? [];
    return line === undefined ? [] : [[Number(line), Number(column)]];
  });
}
