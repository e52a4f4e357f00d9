import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What decides whether a version may be published. */
export interface State {
  readonly version: string;
  readonly changelog: string;
  /** `git status --porcelain`. */
  readonly status: string;
  /** Tags of the commit that is checked out. */
  readonly tags: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export function stateOf(root: string, version: string): State {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' });
  return {
    version,
    changelog: readFileSync(join(root, 'CHANGELOG.md'), 'utf8'),
    status: git('status', '--porcelain'),
    tags: git('tag', '--points-at', 'HEAD').split('\n').filter(Boolean),
    environment: process.env,
  };
}

/** What is missing before that version can be published, each with what to do. */
export function lacks({ version, changelog, status, tags, environment }: State): string[] {
  const headings = changelog.split('\n').filter((line) => line.startsWith('## '));
  const needs: readonly (readonly [isThere: boolean, remedy: string])[] = [
    [
      headings.some((line) => line.split(/[\s[\]()]+/)[1] === version),
      `a heading "## ${version} (date)" in CHANGELOG.md: name the section "Unreleased" so`,
    ],
    [status === '', 'a clean tree: commit or remove what git status names'],
    [tags.includes(`v${version}`), `the tag v${version} on this commit: git tag v${version}`],
    [
      Boolean(environment.GITHUB_SERVER_URL && environment.GITHUB_REPOSITORY),
      'GITHUB_SERVER_URL and GITHUB_REPOSITORY, from which the package says where its sources are: publish from a workflow',
    ],
    [
      Boolean(environment.ACTIONS_ID_TOKEN_REQUEST_URL),
      'ACTIONS_ID_TOKEN_REQUEST_URL, by which npm proves where it was built: the job needs "permissions: id-token: write"',
    ],
  ];
  return needs.flatMap(([isThere, remedy]) => (isThere ? [] : [remedy]));
}
