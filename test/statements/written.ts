import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));
const VERBS =
  'SELECT|INSERT|UPDATE|DELETE|MERGE|WITH|VALUES|CALL|DO|SET|RESET|LOCK|TRUNCATE|LISTEN|UNLISTEN|NOTIFY|PREPARE|EXECUTE|DEALLOCATE|DISCARD|CREATE|ALTER|DROP|GRANT|REVOKE|DECLARE|FETCH|EXPLAIN|SHOW';
// The words that begin and end a transaction begin sentences of ours too.
const IS_STATEMENT = new RegExp(`^\\s*(?:${VERBS})\\b|^(?:BEGIN|COMMIT|ROLLBACK)$`);
const LITERAL = /`(?:[^`\\]|\\.)*`|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"/g;

export interface Written {
  readonly path: string;
  /** `${…}` of templates as it stands there. */
  readonly text: string;
}

/** Every SQL statement that stands as a text in these folders. */
export function writtenIn(...folders: readonly string[]): Written[] {
  return globSync(
    folders.map((folder) => `${folder}/**/*.ts`),
    { cwd: root },
  )
    .sort()
    .flatMap((path) =>
      [...withoutComments(readFileSync(join(root, path), 'utf8')).matchAll(LITERAL)]
        .map(([literal]) => ({ path, text: literal.slice(1, -1) }))
        .filter(({ text }) => IS_STATEMENT.test(text)),
    );
}

/** The migrations, each as one text. */
export function migrations(): Written[] {
  return globSync('migrations/*.sql', { cwd: root }).map((path) => ({
    path,
    text: readFileSync(join(root, path), 'utf8'),
  }));
}

/** They speak of what code must not do, and their apostrophes begin no text. */
function withoutComments(source: string): string {
  return source.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '$1');
}
