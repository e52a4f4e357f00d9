import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checksFor } from '../../cli/doctor/checks.ts';
import { Deployment, type DoctorOptions } from '../../cli/doctor/deployment.ts';
import { type Examined, examine, exitCodeOf } from '../../cli/doctor/examine.ts';
import { LIMITS } from '../../cli/doctor/limits.ts';
import { type SqlTarget, targetOf } from '../../cli/target.ts';
import type { Role } from '../../functions/lambda/role.ts';
import { adoptApp, infoOf, launch, tokensIn } from '../local/project.ts';
import { test as base } from '../support/fixtures.ts';

export interface Healthy {
  readonly directory: string;
  readonly url: string;
  /** As the owner of the database, which is an embedded Postgres with its defaults. */
  readonly databaseUrl: string;
  readonly tokens: Readonly<Record<Role, string>>;
}

/** `healthy`: the project under `npm start` with tokens switched on, for the whole file. */
export const test = base.extend(
  'healthy',
  { scope: 'file' },
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the dependencies of a fixture from this pattern
  async ({}, { onCleanup }): Promise<Healthy> => {
    const directory = await mkdtemp(join(tmpdir(), 'millrace-doctor-'));
    // As root, Postgres runs as somebody else, who must get in.
    await chmod(directory, 0o755);
    await adoptApp(directory);
    const tokens = await tokensIn(directory);
    await chmod(join(directory, '.millrace'), 0o755);
    const { ready, stop } = launch(directory, { MILLRACE_AUTH: 'on' });
    onCleanup(async () => {
      await stop();
      await rm(directory, { recursive: true, force: true });
    });
    const url = await ready;
    const { databaseUrl = '' } = (await infoOf(directory)) ?? {};
    return { directory, url, databaseUrl, tokens };
  },
);

export interface Place {
  readonly url?: string;
  readonly token?: string;
  readonly databaseUrl?: string;
}

/** All that the doctor says of it, by check, and what it would exit with. */
export async function examined({ url, token, databaseUrl }: Place, over: Partial<DoctorOptions> = {}) {
  const deployment = new Deployment(
    {
      http: url === undefined ? undefined : { by: 'http', where: url, url, token },
      sql: databaseUrl === undefined ? undefined : ((await targetOf({ databaseUrl, sql: true }, {})) as SqlTarget),
    },
    { queues: ['default'], canaries: 1, deadlineSeconds: 20, limits: LIMITS, ...over },
  );
  const findings: Examined[] = [];
  try {
    for await (const finding of examine(deployment, checksFor(over.queues ?? ['default']))) findings.push(finding);
  } finally {
    await deployment.close();
  }
  const of = Object.fromEntries(findings.map(({ id, ...finding }) => [id, finding]));
  /** Those that are not well, and not merely skipped. */
  const bad = findings.filter(({ verdict }) => verdict === 'failed' || verdict === 'warning').map(({ id }) => id);
  return { of, bad, code: exitCodeOf(findings), text: JSON.stringify(findings) };
}
