import { randomBytes, X509Certificate } from 'node:crypto';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeCertificates } from './certificates.ts';

/** By which the containers, and this machine, reach Postgres. */
const NAMES = ['postgres', 'localhost', '127.0.0.1'];
const RENEWED_BEFORE_MS = 30 * 86_400_000;

/** A password in any case, and TLS from elsewhere: as RDS does it. */
const HBA = `local all all scram-sha-256
hostssl all all all scram-sha-256
`;

/** What `npm run sam` keeps in its folder. */
export interface SamFiles {
  /** PEM file of the authority that vouches for Postgres. */
  readonly ca: string;
  readonly password: string;
  /** Hashes of the tokens that open the API. */
  readonly tokens: string;
  /** The certificate was made now: a server that runs still has the one before. */
  readonly renewed: boolean;
}

/** Finds or makes what Postgres is started with; its certificate again if that ends within 30 days. */
export async function prepareFiles(directory: string): Promise<SamFiles> {
  const postgres = join(directory, 'postgres');
  await mkdir(postgres, { recursive: true });
  await writeFile(join(postgres, 'pg_hba.conf'), HBA);
  const ca = join(directory, 'ca.pem');
  const certificate = join(postgres, 'server.crt');
  const renewed = !(await isGood(certificate));
  if (renewed) {
    const made = makeCertificates(NAMES);
    await writeFile(ca, made.ca);
    await writeFile(join(postgres, 'server.key'), made.key, { mode: 0o600 });
    // Last: without it all of them are made again.
    await writeFile(certificate, made.certificate);
  }
  const tokens = join(directory, 'tokens.json');
  await kept(tokens, () => '{"tokens":[]}\n');
  const password = await kept(join(directory, 'password'), () => randomBytes(24).toString('base64url'));
  return { ca, password, tokens, renewed };
}

async function isGood(file: string): Promise<boolean> {
  try {
    const { validTo } = new X509Certificate(await readFile(file));
    return Date.parse(validTo) > Date.now() + RENEWED_BEFORE_MS;
  } catch {
    return false;
  }
}

/** What the file holds, or is made to hold. */
async function kept(file: string, make: () => string): Promise<string> {
  const known = await readFile(file, 'utf8').catch(() => '');
  if (known !== '') return known;
  const made = make();
  await writeFile(file, made, { mode: 0o600 });
  return made;
}

/** Copies a file into bundles: the container of a function sees nothing else of this machine. */
export async function share(
  file: string,
  bundles: readonly { readonly directory: string }[],
  name: string,
): Promise<void> {
  for (const { directory } of bundles) await copyFile(file, join(directory, name));
}
