import { join } from 'node:path';
import { readRuntimeFile } from '../../local/runtime-file.ts';
import { EXIT, type ExitCode } from '../cli-error.ts';
import { showJson } from '../json.ts';
import { type HttpTarget, hasDatabase, type SqlTarget, targetOf } from '../target.ts';
import { terminal } from '../terminal.ts';
import { checksFor } from './checks.ts';
import { Deployment, type DoctorOptions, type Targets } from './deployment.ts';
import { type Examined, examine, exitCodeOf } from './examine.ts';
import { LIMITS } from './limits.ts';
import { documentOf, linesOf, tallyOf } from './report.ts';

export interface CommandOptions {
  readonly url?: string;
  readonly tokenFile?: string;
  readonly databaseUrl?: string;
  readonly queue?: readonly string[];
  readonly canaries: number;
  readonly deadline: number;
  readonly json?: boolean;
}

/** Examines what the options and the environment name, and tells it. Resolves what to exit with. */
export async function doctor(options: CommandOptions): Promise<ExitCode> {
  const targets = await targetsOf(options);
  const abort = new AbortController();
  process.once('SIGINT', () => abort.abort(new Error('stopped')));
  const code = await examineAll(targets, {
    queues: [...new Set(options.queue ?? ['default'])],
    canaries: options.canaries,
    deadlineSeconds: options.deadline,
    limits: LIMITS,
    signal: abort.signal,
    json: options.json === true,
  });
  return abort.signal.aborted ? EXIT.interrupted : code;
}

/** Both the API and the database if both are known; nothing is told of: what runs here. */
async function targetsOf(options: CommandOptions): Promise<Targets> {
  const { url, tokenFile, databaseUrl } = options;
  const hasApi = Boolean(url || process.env.MILLRACE_URL);
  const hasSql = Boolean(databaseUrl) || hasDatabase(process.env);
  const isHere = !hasApi && !hasSql;
  const runs = isHere ? await readRuntimeFile(join('.', '.millrace')) : undefined;
  const wantsApi = hasApi || isHere;
  const http = wantsApi ? ((await targetOf({ url, tokenFile, http: true })) as HttpTarget) : undefined;
  const wantsDatabase = hasSql || runs !== undefined;
  const sql = wantsDatabase ? ((await targetOf({ databaseUrl, sql: true })) as SqlTarget) : undefined;
  return { http, sql };
}

async function examineAll(
  targets: Targets,
  { json, ...options }: DoctorOptions & { readonly json: boolean },
): Promise<ExitCode> {
  const deployment = new Deployment(targets, options);
  const checks = checksFor(options.queues);
  const idWidth = Math.max(...checks.map(({ id }) => id.length));
  const findings: Examined[] = [];
  try {
    for await (const finding of examine(deployment, checks)) {
      findings.push(finding);
      if (!json) for (const line of linesOf(finding, idWidth)) terminal.show(line);
    }
  } finally {
    await deployment.close();
  }
  const code = exitCodeOf(findings);
  if (json) showJson(documentOf(findings, code));
  else terminal.say(tallyOf(findings));
  return code;
}
