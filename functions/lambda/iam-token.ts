import type { Signer } from '@aws-sdk/rds-signer';
import { MillraceError } from '../queue/errors.ts';
import { ConfigurationError } from './configuration-error.ts';

export interface IamLogin {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  /** The region the database is in. */
  readonly region: string;
}

/** The database refused a token; `cause` is what it said. */
export class IamLoginRefusedError extends MillraceError {
  static override readonly name: string = 'IamLoginRefusedError';
  readonly code = 'iam_login_refused';
  constructor({ user, host }: IamLogin, cause: Error) {
    super(
      `the database at ${host} refused the IAM token of ${user} (${cause.message}). Look whether ${user} has rds_iam, ` +
        'the instance has IAM authentication switched on, the role of this function may rds-db:connect as that login, ' +
        'and its credentials have not expired.',
      { cause },
    );
  }
}

/**
 * Makes the passwords of an IAM login: a fresh token at each call, good for connecting within 15 minutes. It is signed on this
 * machine with the credentials of the function's role; nothing is asked of AWS.
 * @throws ConfigurationError if there are no credentials to sign with
 */
export function iamTokens({ host, port, user, region }: IamLogin): () => Promise<string> {
  let signer: Signer | undefined;
  return async () => {
    try {
      // Beside the client of Secrets Manager the other part of the SDK; who logs in with a password needs none of it.
      const sdk = await import('#sdk/rds-signer');
      signer ??= new sdk.Signer({ hostname: host, port, username: user, region });
      return await signer.getAuthToken();
    } catch (cause) {
      throw new ConfigurationError(`no IAM token can be signed for ${user}: ${(cause as Error).message}`, { cause });
    }
  };
}
