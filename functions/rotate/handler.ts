import * as z from 'zod';
import { loginWith } from '../lambda/connect.ts';
import { readEnv } from '../lambda/env.ts';
import { createLog } from '../lambda/log.ts';
import { rotateEnv } from './env.ts';
import { RotationError } from './errors.ts';
import { createSecret, finishSecret, type Rotation, setSecret, testSecret } from './rotation.ts';
import { SecretVersions, versionWith } from './versions.ts';

const log = createLog({ function: 'rotate' });

/** In the order in which Secrets Manager calls them, each at least once. */
const STEPS = { createSecret, setSecret, testSecret, finishSecret };

/** As Secrets Manager sends it. The token is the id of the pending version. */
const request = z.object({
  Step: z.enum(Object.keys(STEPS) as (keyof typeof STEPS)[]),
  SecretId: z.string(),
  ClientRequestToken: z.string(),
});

/**
 * One step of a rotation of the functions' login. Whatever was done before is found as it is and not done again, so each step
 * may come twice, and a rotation that ended halfway is taken up by the next.
 */
export async function handler(event: unknown): Promise<void> {
  const { Step: step, SecretId, ClientRequestToken: version } = request.parse(event);
  const env = readEnv(rotateEnv);
  if (SecretId !== env.LOGIN_SECRET_ARN) {
    throw new RotationError(`this function rotates the secret ${env.LOGIN_SECRET_ARN}, and not ${SecretId}`);
  }
  const versions = new SecretVersions(env.LOGIN_SECRET_ARN);
  const labels = await versions.labels();
  const currentId = versionWith('AWSCURRENT', labels);
  if (currentId === undefined) throw new RotationError(`the secret ${SecretId} has no current version`);
  if (currentId === version) {
    log.info('rotation.done_before', { step, version });
    return;
  }
  if (versionWith('AWSPENDING', labels) !== version) {
    throw new RotationError(`the version ${version} is not the pending one of the secret ${SecretId}`);
  }
  const previousId = versionWith('AWSPREVIOUS', labels);
  const logIn = loginWith(env, 'rotate');
  const rotation: Rotation = { env, versions, pendingId: version, currentId, previousId, logIn };
  await STEPS[step](rotation);
  log.info('rotation.stepped', { step, version });
}
