import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Package {
  readonly name: string;
  readonly version: string;
  /** SPDX expression. */
  readonly licence: string;
  /** Where it lies. */
  readonly folder: string;
}

/** Licences under which code may come with the package, or be installed by it: all let it be used and passed on freely. */
const ALLOWED: ReadonlySet<string> = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'MIT',
]);

/** What its package.json says; older ones say it as an object or a list. */
export function licenceOf(manifest: {
  license?: string | { type?: string };
  licenses?: readonly { type?: string }[];
}): string {
  const { license, licenses = [] } = manifest;
  const said = typeof license === 'string' ? license : license?.type;
  return said ?? (licenses.map(({ type }) => type).join(' OR ') || 'none');
}

/** Whether one of the alternatives is allowed; of several that hold at once all must be. */
export function isAllowed(licence: string): boolean {
  const alternatives = licence.replace(/[()]/g, '').split(/\s+OR\s+/);
  return alternatives.some((all) => all.split(/\s+AND\s+/).every((one) => ALLOWED.has(one)));
}

/** @throws Error that names each package whose licence is not on the list */
export function refuseOthers(packages: readonly Omit<Package, 'folder'>[]): void {
  const others = packages.filter(({ licence }) => !isAllowed(licence));
  if (others.length === 0) return;
  const named = others.map(({ name, version, licence }) => `${name} ${version} (${licence})`).join(', ');
  throw new Error(
    `Only licences on the list of bin/pack/licences.ts may come with the package, and there are others: ${named}. ` +
      'Leave the package out, or add its licence to the list once somebody has read it.',
  );
}

/** The text of the licence as the package brings it, with its notice if it has one. */
export function textOf({ folder, licence }: Package): string {
  const files = readdirSync(folder).filter((name) => /^(licen[cs]e|notice)/i.test(name));
  const texts = files.sort().map((name) => readFileSync(join(folder, name), 'utf8').trim());
  return texts.length > 0 ? texts.join('\n\n') : `It brings no text of its licence, which is ${licence}.`;
}
