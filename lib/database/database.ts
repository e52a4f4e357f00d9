import type * as iam from 'aws-cdk-lib/aws-iam';
import type * as rds from 'aws-cdk-lib/aws-rds';
import type * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import type { Construct } from 'constructs';
import type { Certificates } from '../bundles/certificates.ts';
import type { DatabaseAuth } from '../job-queue-props.ts';
import type { Network } from '../network/network.ts';

/** What a database must know of the queue that uses it. */
export interface DatabaseContext {
  readonly network: Network;
  readonly auth: DatabaseAuth;
  readonly migrations: 'onDeploy' | 'external';
}

/** Where a server is. Each part is text that a function can read, a reference to be resolved by the deploy included. */
export interface Endpoint {
  readonly host: string;
  readonly port: string;
  readonly name: string;
}

/** A database that a queue uses, whoever made it. */
export interface BoundDatabase {
  /** @default - what the secret of a login says */
  readonly endpoint: Partial<Endpoint>;
  /** JSON of the login that migrates. @default - none: migrations are external */
  readonly adminSecret: secretsmanager.ISecret | undefined;
  /** JSON of the login that functions use. @default - one of our own */
  readonly login: secretsmanager.ISecret | undefined;
  /** Who vouches for the server. @default - the public authorities that Node trusts */
  readonly certificates: Certificates | undefined;
  /** Allows a function to connect with IAM tokens, as one user. @default - it knows no IAM tokens */
  readonly grantConnect: ((grantee: iam.IGrantable, user: string) => iam.Grant) | undefined;
  /** What CloudWatch knows of it. @default - it is not in this account */
  readonly monitored: Monitored | undefined;
  /** @default - unknown */
  readonly maxConnections: number | undefined;
  /** What must be there before the first connection. */
  readonly resources: readonly Construct[];
}

/** A database whose metrics are in CloudWatch. */
export type Monitored = MonitoredInstance | MonitoredCluster;

export interface MonitoredInstance {
  readonly kind: 'instance';
  readonly instance: rds.IDatabaseInstance;
  /** Such as `db.t4g.micro`. @default - unknown */
  readonly instanceClass?: string | undefined;
  /** @default - unknown */
  readonly allocatedGibibytes?: number | undefined;
  /** @default - unknown */
  readonly maxConnections?: number | undefined;
}

export interface MonitoredCluster {
  readonly kind: 'cluster';
  readonly cluster: rds.IDatabaseCluster;
  /** @default - unknown */
  readonly maxConnections?: number | undefined;
}
