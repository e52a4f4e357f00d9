import { Stack } from 'aws-cdk-lib';
import type * as iam from 'aws-cdk-lib/aws-iam';
import type * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import type { Construct } from 'constructs';
import { type Certificates, certificatePath } from '../bundles/certificates.ts';
import type { SdkPart } from '../bundles/sdk.ts';
import type { Place } from '../network/network.ts';
import { checkLogins } from './check-logins.ts';
import type { BoundDatabase, DatabaseContext } from './database.ts';
import { Login } from './login.ts';

/** What functions do in the database: the roles that a migration makes, who migrates, and who changes the password. */
export type DatabaseRole = 'producer' | 'reader' | 'operator' | 'worker' | 'reaper' | 'admin' | 'rotator';

/** What one function needs to reach the database. */
export interface DatabaseAccess {
  readonly environment: Readonly<Record<string, string>>;
  /** Secrets that it may read, by the variables that hold their ARNs. */
  readonly secrets: Readonly<Record<string, secretsmanager.ISecret>>;
  /** What it must bring of the AWS SDK beyond what reads a secret. */
  readonly sdk: readonly SdkPart[];
  /** Who vouches for the server. @default - the public authorities that Node trusts */
  readonly certificates: Certificates | undefined;
  /** @default - outside any VPC */
  readonly place: Place | undefined;
  /** Gives the function what it needs beyond reading its secrets. */
  grant(fn: iam.IGrantable): void;
}

export interface DatabaseRolesProps extends DatabaseContext {
  readonly database: BoundDatabase;
}

/** The ways into the database: each function gets what its role needs, and no more. */
export class DatabaseRoles {
  /** The login of our own. @default - a given one, or IAM tokens */
  readonly login: Login | undefined;
  readonly #scope: Construct;
  readonly #props: DatabaseRolesProps;

  /** @throws Error that says which login is missing */
  constructor(scope: Construct, props: DatabaseRolesProps) {
    checkLogins(props.database, props);
    this.#scope = scope;
    this.#props = props;
    if (props.auth === 'secret' && props.database.login === undefined) this.login = new Login(scope, 'DatabaseLogin');
  }

  of(role: DatabaseRole): DatabaseAccess {
    if (role === 'admin') return this.#admin();
    if (role === 'rotator') return this.#rotator();
    if (this.#props.auth === 'iam') return this.#byToken(`millrace_${role}_iam`);
    return this.#access({ secrets: { DATABASE_SECRET_ARN: this.#loginSecret } });
  }

  get #loginSecret(): secretsmanager.ISecret {
    return required(this.login?.secret ?? this.#props.database.login, 'login');
  }

  /** It makes the login that functions use, or those that they use with a token. */
  #admin(): DatabaseAccess {
    const admin = required(this.#props.database.adminSecret, 'admin login');
    return this.#access({
      environment: this.#props.auth === 'iam' ? { IAM_LOGINS: 'true' } : {},
      secrets: { DATABASE_SECRET_ARN: admin, ...(this.login && { LOGIN_SECRET_ARN: this.login.secret }) },
    });
  }

  /** It logs in with the password that it changes. */
  #rotator(): DatabaseAccess {
    const login = required(this.login, 'login of our own');
    return this.#access({
      secrets: { LOGIN_SECRET_ARN: login.secret },
      grant: (fn) => login.grantRotate(fn),
    });
  }

  #byToken(user: string): DatabaseAccess {
    const connect = required(this.#props.database.grantConnect, 'login by IAM');
    return this.#access({
      environment: { DATABASE_USER: user },
      sdk: ['rds-signer'],
      grant: (fn) => connect(fn, user),
    });
  }

  #access(own: Partial<DatabaseAccess>): DatabaseAccess {
    const { database, network } = this.#props;
    const { host, port, name } = database.endpoint;
    return {
      secrets: {},
      sdk: [],
      certificates: database.certificates,
      place: network.place,
      grant: () => {},
      ...own,
      environment: {
        ...(host !== undefined && { DATABASE_HOST: host }),
        ...(port !== undefined && { DATABASE_PORT: port }),
        ...(name !== undefined && { DATABASE_NAME: name }),
        ...(database.certificates && {
          // Relative to the bundle.
          DATABASE_CA_FILE: certificatePath(Stack.of(this.#scope).region, database.certificates.own),
        }),
        ...own.environment,
      },
    };
  }
}

function required<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Error(`there is no ${what} here`);
  return value;
}
