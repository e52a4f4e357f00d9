import { configDefaults, defineConfig } from 'vitest/config';
import { pgbouncerProgram } from './test/support/pgbouncer-program.ts';

const ALL = ['test/**/*.test.ts'];
/** What a Postgres version can break: statements, migrations, the guarantees that rest on both, and every answer of the API. */
const STORAGE = [
  'test/queue/**/*.test.ts',
  'test/migrations/**/*.test.ts',
  'test/lifecycle/**/*.test.ts',
  'test/testing/**/*.test.ts',
  'test/contract/**/*.test.ts',
];

/** Of the pooler itself: elsewhere they have nothing to go through. */
const POOLER = ['test/pooler/**/*.test.ts'];
/** What a pooler in transaction mode breaks first: transactions, lost answers, locks that statements wait for, presence. */
const POOLED_BRIEFLY = [
  ...POOLER,
  'test/queue/{transaction,unique-enqueue,marks,presence,firing}.test.ts',
  'test/lifecycle/{lost-answers,fence}.test.ts',
];
const POOLED = [
  ...POOLER,
  'test/queue/**/*.test.ts',
  'test/lifecycle/**/*.test.ts',
  'test/testing/**/*.test.ts',
  'test/functions/{enqueue,enqueue-keys,batch,jobs-read,manage,manage-lost-answers,reap,sealed,work}.test.ts',
];
/** What neither the version of Postgres nor a pooler has a part in, and takes long: once is enough. */
const ONCE = ['test/queue/{fire-times,server-ends}.test.ts'];
/** Plans are looked at with settings of the session, and the defaults that failovers are made with reach new ones alone. */
const SESSIONS = ['test/queue/*plans.test.ts', 'test/lifecycle/failover.test.ts'];

interface Project {
  readonly name: string;
  readonly include: readonly string[];
  readonly exclude?: readonly string[];
  readonly provide?: { readonly postgresMajor?: number; readonly pooled?: boolean };
}

function project({ name, include, exclude = POOLER, provide = {} }: Project) {
  return {
    extends: true as const,
    test: {
      name,
      include: [...include],
      exclude: [...configDefaults.exclude, ...exclude],
      globalSetup: ['test/support/global-setup.ts'],
      provide,
    },
  };
}

/** With DATABASE_URL there is one server, of whatever version it is: one project runs everything on it. */
function servers(whole: boolean) {
  if (process.env.DATABASE_URL) return [project({ name: 'given', include: ALL })];
  return [
    project({ name: 'pg18', include: ALL, provide: { postgresMajor: 18 } }),
    project({ name: 'pg15', include: STORAGE, exclude: [...POOLER, ...ONCE], provide: { postgresMajor: 15 } }),
    ...pooled(whole),
  ];
}

/** Through a real PgBouncer where there is one. `whole`: all of the engine's suites. */
function pooled(whole: boolean) {
  if (pgbouncerProgram() === undefined) {
    process.stderr.write('PgBouncer is not installed (apt-get install pgbouncer): nothing is tested by way of it.\n');
    return [];
  }
  const include = whole ? POOLED : POOLED_BRIEFLY;
  return [project({ name: 'pgbouncer', include, exclude: [...SESSIONS, ...ONCE], provide: { pooled: true } })];
}

export default defineConfig(({ mode }) => ({
  test: {
    projects: servers(mode === 'whole'),
    pool: 'forks',
    // Tests wait for Postgres and for time more than they compute: two files at once use half of two cores.
    maxWorkers: 3,
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
}));
