import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type pg from 'pg';
import { type Credentials, credentialsOf } from '../lambda/secret.ts';
import { setPassword, whilePasswordsStay } from '../lambda/set-password.ts';
import { isRefusedLogin } from '../lambda/with-secret.ts';
import type { RotateEnv } from './env.ts';
import { RotationError } from './errors.ts';
import type { SecretVersions } from './versions.ts';

/** One rotation: from a version of the secret that is current to one that is pending. */
export interface Rotation {
  readonly env: RotateEnv;
  readonly versions: SecretVersions;
  readonly pendingId: string;
  readonly currentId: string;
  readonly previousId: string | undefined;
  readonly logIn: (credentials: Credentials) => Promise<pg.Client>;
}

/** What is tried of the versions without a label, the newest first: each try is a refused login in the server's log. */
const OLD_VERSIONS = 5;

/** Writes the next password into the pending version, unless an earlier attempt has. */
export async function createSecret({ env, versions, pendingId, currentId }: Rotation): Promise<void> {
  if ((await versions.read(pendingId)) !== undefined) return;
  const text = await versions.read(currentId);
  // Checked before it is copied: what cannot be used now must not become the next.
  credentialsOf(text, env.LOGIN_SECRET_ARN, env);
  const password = randomBytes(32).toString('base64url');
  await versions.write(pendingId, JSON.stringify({ ...JSON.parse(text ?? ''), password }));
}

/** Makes the pending password that of the login, which changes it itself; once more the same where an earlier attempt came that far. */
export async function setSecret(rotation: Rotation): Promise<void> {
  const pending = await pendingOf(rotation);
  const client = await logInAsIs(rotation, pending);
  await whilePending(rotation, client, () => setPassword(client, pending.username, pending.password));
}

/** @throws RotationError if the database does not take the pending password */
export async function testSecret(rotation: Rotation): Promise<void> {
  await (await logInAsPending(rotation)).end().catch(() => {});
}

/** Makes the pending version the current one. The password is tried once more: a current one that is wrong locks all out. */
export async function finishSecret(rotation: Rotation): Promise<void> {
  const client = await logInAsPending(rotation);
  await whilePending(rotation, client, async () => {
    // Before the lock was ours, a deploy may have set another.
    await testSecret(rotation);
    await rotation.versions.makeCurrent(rotation.pendingId, rotation.currentId);
  });
}

/** Acts while no deploy and no other rotation can, unless this one was called off meanwhile; then ends the connection. */
async function whilePending({ versions, pendingId }: Rotation, client: pg.Client, act: () => Promise<void>) {
  try {
    await whilePasswordsStay(client, async () => {
      if ((await versions.withLabel('AWSPENDING')) !== pendingId) {
        throw new RotationError(
          `the version ${pendingId} is not the pending one any more: the rotation was called off`,
        );
      }
      await act();
    });
  } finally {
    await client.end().catch(() => {});
  }
}

async function logInAsPending(rotation: Rotation): Promise<pg.Client> {
  const pending = await pendingOf(rotation);
  const client = await tryLogin(rotation, pending);
  if (client !== undefined) return client;
  throw new RotationError(
    `the database refuses the pending password of ${pending.username}: setSecret has to come first`,
  );
}

/**
 * A connection as the login with whatever its password is now: the current one; the pending one, if an earlier attempt has set
 * it; the previous one; or one that a rotation has set which was called off, and whose version has lost its label.
 */
async function logInAsIs(rotation: Rotation, pending: Credentials): Promise<pg.Client> {
  const { env, versions, pendingId, currentId, previousId } = rotation;
  const tried = new Set<string>();
  const attempt = async (id: string | undefined) => {
    if (id === undefined || tried.has(id)) return undefined;
    tried.add(id);
    const text = await versions.read(id);
    if (text === undefined) return undefined;
    const credentials = credentialsOf(text, env.LOGIN_SECRET_ARN, env);
    // A secret that was given to another login has passwords of its own from then on.
    return credentials.username === pending.username ? tryLogin(rotation, credentials) : undefined;
  };
  for (const id of [currentId, pendingId, previousId]) {
    const client = await attempt(id);
    if (client !== undefined) return client;
  }
  for (const id of (await versions.newest()).filter((one) => !tried.has(one)).slice(0, OLD_VERSIONS)) {
    const client = await attempt(id);
    if (client !== undefined) return client;
  }
  throw new RotationError(
    `the database refuses ${pending.username} with every password that the secret ${env.LOGIN_SECRET_ARN} has had: ` +
      'run the migration once more, which sets the current one',
  );
}

/** @throws RotationError also if the secret was given to another login, or names another place, since: the end would undo that */
async function pendingOf({ env, versions, pendingId, currentId }: Rotation): Promise<Credentials> {
  const text = await versions.read(pendingId);
  if (text === undefined) {
    throw new RotationError(`the version ${pendingId} holds no password yet: createSecret has to come first`);
  }
  const pending = credentialsOf(text, env.LOGIN_SECRET_ARN, env);
  const current = credentialsOf(await versions.read(currentId), env.LOGIN_SECRET_ARN, env);
  if (isDeepStrictEqual({ ...pending, password: '' }, { ...current, password: '' })) return pending;
  throw new RotationError(
    `the secret ${env.LOGIN_SECRET_ARN} names another login or place than when this rotation began: take AWSPENDING off ` +
      `the version ${pendingId}, and rotate anew`,
  );
}

/** Resolves undefined if the database refuses these credentials; throws if it cannot be asked. */
async function tryLogin({ logIn }: Rotation, credentials: Credentials): Promise<pg.Client | undefined> {
  try {
    return await logIn(credentials);
  } catch (error) {
    if (isRefusedLogin(error)) return undefined;
    throw error;
  }
}
