import type * as ec2 from 'aws-cdk-lib/aws-ec2';
import type * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';

/** A new RDS instance for the jobs alone. */
export interface NewInstanceProps {
  /** @default - t4g.micro: 2 processors that share their time, 1 GiB, about 80 connections */
  readonly instanceType?: ec2.InstanceType;
  /** Disk in GiB at first, 20 to 59,578; it grows by itself up to `maxAllocatedGibibytes`. @default 20 */
  readonly allocatedGibibytes?: number;
  /**
   * What the disk may grow to, in GiB: at least a tenth more than `allocatedGibibytes`, at most 65,536.
   * @default - 100, or twice `allocatedGibibytes` if that is more
   */
  readonly maxAllocatedGibibytes?: number;
  /** Whether a standby in another zone takes over when the instance fails; it costs as much again. @default false */
  readonly multiAz?: boolean;
  /**
   * JSON of the login that functions use, a member of the five `millrace_…` roles: `username` and `password`. It is yours to
   * make in the database, and to rotate.
   * @default - one of our own: made by the migration, rotated each 30 days; required with `migrations: 'external'`
   */
  readonly login?: secretsmanager.ISecret;
  /**
   * Path of a PEM file with the certificates that vouch for the server, from the folder that `cdk` runs in or absolute.
   * @default - those of RDS in the stack's region; regions that opened after 2024 are not among them
   */
  readonly ca?: string;
  /** How many connections it takes at once, for the estimate at synth. @default - by the memory of the instance type */
  readonly maxConnections?: number;
}

/** An RDS instance or an Aurora cluster that is there already, or that the app defines. */
export interface ExistingDatabaseProps {
  /**
   * JSON of the login that migrates: `username` and `password` of a user who may create roles and owns what is in the
   * schema `millrace`. Only the migration reads it.
   * @default - the secret that the instance or cluster was made with; required for an imported one, unless `migrations` is
   * `external`
   */
  readonly adminSecret?: secretsmanager.ISecret;
  /**
   * JSON of the login that functions use, a member of the five `millrace_…` roles: `username` and `password`. It is yours to
   * rotate.
   * @default - one of our own: made by the migration, rotated each 30 days; required with `migrations: 'external'`
   */
  readonly login?: secretsmanager.ISecret;
  /** The database on the server. @default 'postgres' */
  readonly databaseName?: string;
  /**
   * Path of a PEM file with the certificates that vouch for the server, from the folder that `cdk` runs in or absolute.
   * @default - those of RDS in the stack's region; regions that opened after 2024 are not among them
   */
  readonly ca?: string;
  /**
   * How many connections it takes at once, for the estimate at synth.
   * @default - by the memory of its instance class, where the app knows it
   */
  readonly maxConnections?: number;
}

/** Any Postgres: Neon, Supabase, RDS of another account, a server of your own. */
export interface SecretDatabaseProps {
  /**
   * JSON of the login that migrates: `host`, `port`, `username`, `password`, `dbname`. Its user may create roles and owns what
   * is in the schema `millrace`. Only the migration reads it.
   * @default - none: `migrations` must be `external`
   */
  readonly adminSecret?: secretsmanager.ISecret;
  /**
   * JSON of the login that functions use, a member of the five `millrace_…` roles: `host`, `port`, `username`, `password`,
   * `dbname`. It is yours to rotate.
   * @default - one of our own: made by the migration, rotated each 30 days; required with `migrations: 'external'`
   */
  readonly login?: secretsmanager.ISecret;
  /** Name or address of the server. @default - what `adminSecret` says under `host` when a deploy reads it */
  readonly host?: string;
  /** @default - what `adminSecret` says under `port` when a deploy reads it */
  readonly port?: number;
  /** The database on the server. @default - what `adminSecret` says under `dbname` when a deploy reads it */
  readonly databaseName?: string;
  /**
   * Path of a PEM file with the certificates that vouch for the server, from the folder that `cdk` runs in or absolute; or
   * `rds` for those of RDS in the stack's region.
   * @default - the public authorities that Node trusts
   */
  readonly ca?: string;
  /** Security group of the server: it lets in the functions. It needs the prop `vpc` of the queue. @default - none is changed */
  readonly securityGroup?: ec2.ISecurityGroup;
  /** How many connections it takes at once, for the estimate at synth. @default - unknown, and nothing is estimated */
  readonly maxConnections?: number;
}
