import { command } from './command.ts';
import { SamError } from './sam-error.ts';

/** What `npm run sam` needs of this machine, what asks for it, and what to do when that fails. */
const NEEDED: readonly { readonly name: string; readonly args: readonly string[]; readonly remedy: string }[] = [
  {
    name: 'docker',
    args: ['--version'],
    remedy: 'Docker is not installed: install Docker Desktop, or Docker Engine with its compose plugin.',
  },
  {
    name: 'docker',
    args: ['compose', 'version'],
    remedy: 'Docker has no "docker compose": install its compose plugin (docker-compose-plugin).',
  },
  {
    name: 'docker',
    args: ['info'],
    remedy:
      'The Docker daemon does not answer: start Docker Desktop (on Linux: sudo systemctl start docker), and see that you may use it ("docker info" says why not).',
  },
  {
    name: 'sam',
    args: ['--version'],
    remedy:
      'The AWS SAM CLI is not installed: see https://docs.aws.amazon.com/serverless-application-model/latest/developerguide/install-sam-cli.html, or "pip install aws-sam-cli".',
  },
];

/** @throws SamError `tool_missing` that says what to install or start */
export async function checkTools(cwd: string, signal: AbortSignal): Promise<void> {
  for (const { name, args, remedy } of NEEDED) {
    const { code } = await command(name, args, { cwd, signal }).ended;
    signal.throwIfAborted();
    if (code !== 0) throw new SamError('tool_missing', `${remedy} "npm start" needs neither.`);
  }
}
