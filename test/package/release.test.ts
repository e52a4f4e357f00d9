import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { isAllowed, licenceOf, refuseOthers } from '../../bin/pack/licences.ts';
import { manifest } from '../../bin/pack/manifest.ts';
import { licencesIn, sbomOf } from '../../bin/pack/sbom.ts';
import { lacks, type State } from '../../bin/publish/readiness.ts';
import { root } from './built.ts';

const own = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

describe('licences', () => {
  test.each([
    ['MIT', true],
    ['(MIT OR GPL-3.0-only)', true],
    ['MIT AND Apache-2.0', true],
    ['MIT AND GPL-3.0-only', false],
    ['GPL-3.0-only', false],
    ['none', false],
  ])('%s: %s', (licence, allowed) => {
    expect(isAllowed(licence)).toBe(allowed);
  });

  test.each([
    [{ license: 'ISC' }, 'ISC'],
    [{ license: { type: 'MIT' } }, 'MIT'],
    [{ licenses: [{ type: 'MIT' }, { type: 'BSD-2-Clause' }] }, 'MIT OR BSD-2-Clause'],
    [{}, 'none'],
  ])('of %o', (said, licence) => {
    expect(licenceOf(said)).toBe(licence);
  });

  test('one that is not on the list is refused by name', () => {
    const packages = [
      { name: 'good', version: '1.0.0', licence: 'MIT' },
      { name: 'other', version: '2.0.0', licence: 'SSPL-1.0' },
    ];
    expect(() => refuseOthers(packages)).toThrow(/there are others: other 2\.0\.0 \(SSPL-1\.0\)/);
  });

  test('those of all that is installed with the package are on the list', () => {
    const bundled = [{ name: '@aws-sdk/core', version: '3.0.0', licence: 'Apache-2.0', folder: '' }];
    const sbom = sbomOf(root, own, bundled);
    const licences = licencesIn(sbom);
    expect(() => refuseOthers(licences)).not.toThrow();
    const names = licences.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['pg', 'commander', '@aws-sdk/core']));
    // What only we work with, and what the project brings.
    for (const name of ['vitest', 'aws-cdk-lib', 'esbuild', 'zod']) expect(names).not.toContain(name);
    expect(sbom.metadata.component).toMatchObject({ name: 'millrace', version: own.version });
  });
});

const ready: State = {
  version: '1.2.3',
  changelog: '# Changelog\n\n## 1.2.3 (2026-12-01)\n\n- A change.\n',
  status: '',
  tags: ['v1.2.3'],
  environment: {
    GITHUB_SERVER_URL: 'https://github.com',
    GITHUB_REPOSITORY: 'example/millrace',
    ACTIONS_ID_TOKEN_REQUEST_URL: 'https://token.example.org',
  },
};

test('a version is published when all is there', () => {
  expect(lacks(ready)).toEqual([]);
  expect(lacks({ ...ready, changelog: '## [1.2.3] - 2026-12-01\n' })).toEqual([]);
});

test.each<[string, Partial<State>, RegExp]>([
  ['no heading', { changelog: '## Unreleased\n\n1.2.3 is next\n' }, /CHANGELOG/],
  ['a longer version', { changelog: '## 1.2.30\n' }, /CHANGELOG/],
  ['a change that is not committed', { status: ' M README.md\n' }, /clean tree/],
  ['no tag', { tags: ['v1.2.2'] }, /tag v1\.2\.3/],
  ['no repository', { environment: { ...ready.environment, GITHUB_REPOSITORY: '' } }, /GITHUB_REPOSITORY/],
  ['no token', { environment: { ...ready.environment, ACTIONS_ID_TOKEN_REQUEST_URL: undefined } }, /id-token: write/],
])('%s keeps it back', (_what, state, remedy) => {
  expect(lacks({ ...ready, ...state })).toEqual([expect.stringMatching(remedy)]);
});

test('the package says where its sources are if the workflow does', () => {
  const { GITHUB_SERVER_URL, GITHUB_REPOSITORY } = process.env;
  try {
    Object.assign(process.env, ready.environment);
    expect(manifest(own)).toMatchObject({ repository: { url: 'git+https://github.com/example/millrace.git' } });
    delete process.env.GITHUB_REPOSITORY;
    expect(manifest(own)).not.toHaveProperty('repository');
  } finally {
    delete process.env.ACTIONS_ID_TOKEN_REQUEST_URL;
    for (const [name, value] of Object.entries({ GITHUB_SERVER_URL, GITHUB_REPOSITORY })) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  }
});

test('nothing is a dependency that only some need, and each optional peer is one', () => {
  expect(Object.keys(own.peerDependenciesMeta)).toEqual(Object.keys(own.peerDependencies));
  for (const name of Object.keys(own.peerDependencies)) expect(own.dependencies).not.toHaveProperty([name]);
  // Tried here with what it allows.
  for (const name of Object.keys(own.peerDependencies)) expect(own.devDependencies).toHaveProperty([name]);
});
