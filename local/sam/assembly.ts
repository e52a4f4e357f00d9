import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { synthesize } from '../synthesize.ts';
import { readStacks } from '../template.ts';
import { prepareFiles, type SamFiles, share } from './files.ts';
import { type SamSchedule, samApp } from './template.ts';

/** Where all of it lies: not in cdk.out, whose template names the cloud's processor and secrets. */
export interface SamAssembly {
  readonly template: string;
  readonly environment: string;
  readonly files: SamFiles;
  readonly schedules: readonly SamSchedule[];
  /** Copies the tokens to where the authorizer sees them. */
  shareTokens(): Promise<void>;
}

const CA = 'sam-ca.pem';
const TOKENS = 'sam-tokens.json';

/** Synthesizes the project's app and writes what SAM is started with. @throws StartError */
export async function assemble(
  projectDirectory: string,
  directory: string,
  signal?: AbortSignal,
): Promise<SamAssembly> {
  await mkdir(directory, { recursive: true });
  const files = await prepareFiles(directory);
  const assembly = join(directory, 'cdk.out');
  await synthesize(projectDirectory, assembly, { signal });
  const app = samApp(await readStacks(assembly), {
    directory,
    database: { DATABASE_URL: `postgres://millrace:${files.password}@postgres:5432/millrace`, DATABASE_CA_FILE: CA },
    authorizer: { TOKENS_FILE: TOKENS },
  });
  const template = join(directory, 'template.json');
  const environment = join(directory, 'env.json');
  await writeFile(template, JSON.stringify(app.template, null, 2));
  await writeFile(environment, JSON.stringify(app.variables, null, 2), { mode: 0o600 });
  const having = (variable: string) => app.bundles.filter(({ variables }) => variable in variables);
  await share(files.ca, having('DATABASE_CA_FILE'), CA);
  const shareTokens = () => share(files.tokens, having('TOKENS_FILE'), TOKENS);
  await shareTokens();
  return { template, environment, files, schedules: app.schedules, shareTokens };
}
