import { defineConfig } from 'vitest/config';

const ALL = ['test/**/*.test.ts'];
/** What a Postgres version can break: statements, migrations, the guarantees that rest on both, and every answer of the API. */
const STORAGE = [
  'test/queue/**/*.test.ts',
  'test/migrations/**/*.test.ts',
  'test/lifecycle/**/*.test.ts',
  'test/testing/**/*.test.ts',
  'test/contract/**/*.test.ts',
];

/** With DATABASE_URL there is one server, of whatever version it is: one project runs everything on it. */
const projects = process.env.DATABASE_URL
  ? [project('given', ALL)]
  : [project('pg18', ALL, 18), project('pg15', STORAGE, 15)];

function project(name: string, include: string[], postgresMajor?: number) {
  return {
    extends: true as const,
    test: {
      name,
      include,
      globalSetup: ['test/support/global-setup.ts'],
      ...(postgresMajor === undefined ? {} : { provide: { postgresMajor } }),
    },
  };
}

export default defineConfig({
  test: {
    projects,
    pool: 'forks',
    // Tests wait for Postgres more than they compute: two files at once keep two cores busy.
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
