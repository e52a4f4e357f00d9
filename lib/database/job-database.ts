import type * as rds from 'aws-cdk-lib/aws-rds';
import type { Construct } from 'constructs';
import type { BoundDatabase, DatabaseContext } from './database.ts';
import { existingCluster, existingInstance } from './existing-database.ts';
import type { ExistingDatabaseProps, NewInstanceProps, SecretDatabaseProps } from './job-database-props.ts';
import { newDatabase } from './new-database.ts';
import { databaseBySecret } from './secret-database.ts';

export type { ExistingDatabaseProps, NewInstanceProps, SecretDatabaseProps } from './job-database-props.ts';

/**
 * What a database needs of the network: a VPC, a new one if none is given (`any`), one that is given since the database is in
 * it already (`given`), or none at all (`optional`).
 */
export type VpcNeed = 'any' | 'given' | 'optional';

type Bind = (scope: Construct, id: string, context: DatabaseContext) => BoundDatabase;

/** The Postgres that holds the jobs. */
export class JobDatabase {
  /** @internal */
  readonly vpcNeed: VpcNeed;
  readonly #bind: Bind;

  private constructor(vpcNeed: VpcNeed, bind: Bind) {
    this.vpcNeed = vpcNeed;
    this.#bind = bind;
  }

  /** A new RDS instance with Postgres 18: encrypted, unreachable from outside its VPC, protected from deletion. */
  static newInstance(props: NewInstanceProps = {}): JobDatabase {
    return new JobDatabase('any', (scope, id, context) => newDatabase(scope, id, props, context));
  }

  /** An RDS instance with Postgres 15 to 18, in the VPC that the queue is given. Its security group lets in the functions. */
  static fromInstance(instance: rds.IDatabaseInstance, props: ExistingDatabaseProps = {}): JobDatabase {
    return new JobDatabase('given', (_scope, _id, context) => existingInstance(instance, props, context));
  }

  /** An Aurora cluster with Postgres 15 to 18, in the VPC that the queue is given. Its security group lets in the functions. */
  static fromCluster(cluster: rds.IDatabaseCluster, props: ExistingDatabaseProps = {}): JobDatabase {
    return new JobDatabase('given', (_scope, _id, context) => existingCluster(cluster, props, context));
  }

  /** Any Postgres 15 to 18 that takes TLS. Without a VPC given to the queue, its functions run outside any. */
  static fromSecret(props: SecretDatabaseProps): JobDatabase {
    return new JobDatabase('optional', (_scope, _id, context) => databaseBySecret(props, context));
  }

  /** @internal */
  bind(scope: Construct, id: string, context: DatabaseContext): BoundDatabase {
    return this.#bind(scope, id, context);
  }
}
