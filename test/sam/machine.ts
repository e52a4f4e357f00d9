import { spawn } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { freePort } from '../../local/postgres/server.ts';
import { heard } from '../local/project.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** A machine with a project on it, and with stand-ins of these tools. */
export interface Machine {
  readonly project: string;
  /** Folder of the stand-ins: what is written there tells them how to fail. */
  readonly home: string;
  readonly port: number;
  /** How the tools were called so far. */
  calls(): Promise<readonly Call[]>;
  /** `npm run sam` there. */
  start(env?: Readonly<Record<string, string>>): Started;
  /** Takes it away, and with it the container that a failed test has left. */
  remove(): Promise<void>;
}

export interface Call {
  readonly name: 'docker' | 'sam';
  readonly args: readonly string[];
  /** What `docker` is told in its environment. */
  readonly password?: string;
  readonly port?: string;
}

export interface Started {
  readonly output: () => string;
  readonly errors: () => string;
  /** The URL of its ready line. */
  readonly ready: Promise<string>;
  readonly exited: Promise<number | NodeJS.Signals | null>;
  interrupt(): void;
  /** Nobody reads any more what it writes. */
  closeOutput(): void;
}

/** @param assembly what the project's app synthesizes */
export async function machine(
  assembly: string,
  tools: readonly ('docker' | 'sam')[] = ['docker', 'sam'],
): Promise<Machine> {
  const project = await mkdtemp(join(tmpdir(), 'millrace-sam-'));
  await writeFile(join(project, 'cdk.json'), JSON.stringify({ app: `cp -R "${assembly}/." "$CDK_OUTDIR"` }));
  const home = await mkdtemp(join(tmpdir(), 'millrace-tools-'));
  // As root, Postgres runs as somebody else, who must get in.
  await chmod(home, 0o755);
  const [port, postgresPort] = [await freePort(), await freePort()];
  for (const tool of tools) {
    const script = fileURLToPath(new URL(`./stand-ins/${tool}.ts`, import.meta.url));
    await writeFile(join(home, tool), `#!/bin/sh\nexec "${process.execPath}" "${script}" "$@"\n`);
    await chmod(join(home, tool), 0o755);
  }
  const variables = {
    // Without the machine's own docker and sam.
    PATH: [home, dirname(process.execPath), '/bin'].join(':'),
    HOME: home,
    STAND_IN: home,
    PORT: String(port),
    MILLRACE_SAM_POSTGRES_PORT: String(postgresPort),
    MILLRACE_TICK_SECONDS: '1',
  };
  return {
    project,
    home,
    port,
    calls: async () => {
      const text = await readFile(join(home, 'calls'), 'utf8').catch(() => '');
      return text
        .trim()
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line));
    },
    start: (env = {}) => launch(project, { ...variables, ...env }),
    remove: async () => {
      for (const folder of [project, home]) await rm(folder, { recursive: true, force: true });
    },
  };
}

function launch(cwd: string, env: Readonly<Record<string, string>>): Started {
  const child = spawn(process.execPath, [join(root, 'bin/sam.ts')], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const { output, errors, ready, exited } = heard(child);
  onTestFinished(async () => {
    child.kill('SIGINT');
    child.kill('SIGINT');
    await exited;
  });
  return {
    output,
    errors,
    ready,
    exited,
    interrupt: () => child.kill('SIGINT'),
    closeOutput: () => child.stdout.destroy(),
  };
}
