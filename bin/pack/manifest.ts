/** What of the repository's package.json the package's is made of. */
export interface Own {
  readonly exports: Readonly<Record<string, string>>;
  readonly imports: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

/** The names that mean the application's own modules: without a meaning here, a bundle that forgets them fails at once. */
const OF_THE_APPLICATION = ['#contracts', '#processors'];
/** What a name means in the package where it is another file than here: what pack/prebuild.ts has made. */
const PREBUILT: Readonly<Record<string, string>> = { '#middy': './functions/lambda/middy.js' };

/** The package.json that others get: what runs at their side, by the names of compiled files. No scripts. */
export function manifest(own: Own): object {
  const { name, version, description, keywords, license, type, sideEffects, engines, exports, imports } = own;
  const { dependencies = {}, peerDependencies, peerDependenciesMeta } = own;
  const faces = Object.entries(exports);
  const meanings = Object.entries(imports).filter(([name]) => !OF_THE_APPLICATION.includes(name));
  return {
    name,
    version,
    description,
    keywords,
    license,
    ...repository(),
    type,
    engines,
    exports: {
      ...Object.fromEntries(
        faces.map(([face, path]) => [face, { types: compiled(path, '.d.ts'), default: compiled(path, '.js') }]),
      ),
      './package.json': './package.json',
    },
    // Compilers that do not read exports ("module": "commonjs" without "moduleResolution") find the types by these.
    types: compiled(exports['.'] ?? '', '.d.ts'),
    typesVersions: {
      '*': Object.fromEntries(
        faces.filter(([face]) => face !== '.').map(([face, path]) => [face.slice(2), [compiled(path, '.d.ts')]]),
      ),
    },
    imports: Object.fromEntries(meanings.map(([name, path]) => [name, PREBUILT[name] ?? compiled(path, '.js')])),
    bin: { millrace: 'bin/millrace.js' },
    sideEffects,
    // Tried at these versions; whoever has a later one needs no second.
    dependencies: Object.fromEntries(Object.entries(dependencies).map(([name, version]) => [name, `^${version}`])),
    peerDependencies,
    peerDependenciesMeta,
  };
}

/** Where the sources are, which npm's provenance compares with where it was built: known where that is GitHub's. */
function repository(): object {
  const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: path } = process.env;
  if (!server || !path) return {};
  return {
    repository: { type: 'git', url: `git+${server}/${path}.git` },
    bugs: `${server}/${path}/issues`,
    homepage: `${server}/${path}#readme`,
  };
}

function compiled(path: string, ending: string): string {
  return path.replace(/\.ts$/, ending);
}
