import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';

/** Ways to resolve that an ES module cannot serve by its nature: attw's own profile for such packages leaves them out. */
const NOT_ESM = new Set(['node10', 'node16-cjs']);

/** What is wrong with the package in that tarball, by attw (profile esm-only) and publint: a line for each. */
export async function problemsOf(tarball: Uint8Array<ArrayBuffer>): Promise<string[]> {
  return [...(await wrongTypes(tarball)), ...(await badManners(tarball))];
}

async function wrongTypes(tarball: Uint8Array): Promise<string[]> {
  const checked = await checkPackage(createPackageFromTarballData(tarball));
  if (!checked.types) return ['attw: the package has no types'];
  return checked.problems
    .filter((problem) => !('resolutionKind' in problem && NOT_ESM.has(problem.resolutionKind)))
    .map((problem) => `attw: ${JSON.stringify(problem)}`);
}

async function badManners(tarball: Uint8Array<ArrayBuffer>): Promise<string[]> {
  const { messages, pkg } = await publint({ pack: { tarball: tarball.buffer }, strict: true });
  return messages.map((message) => `publint: ${formatMessage(message, pkg)}`);
}
