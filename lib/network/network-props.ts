import type * as ec2 from 'aws-cdk-lib/aws-ec2';
import type { JobDatabase } from '../database/job-database.ts';
import type { Egress, Pickup } from '../job-queue-props.ts';

export interface NetworkProps {
  /** Says whether it needs a VPC at all. */
  readonly database: JobDatabase;
  /** @default - a new one, or none for a database that needs none */
  readonly vpc?: ec2.IVpc | undefined;
  /** How functions in a new VPC reach what lies outside. @default 'natInstance' */
  readonly egress?: Egress | undefined;
  readonly pickup: Pickup;
  /** Subnets of a given VPC for the functions. @default - those with a way out, else isolated ones */
  readonly functionSubnets?: ec2.SubnetSelection | undefined;
  /** Subnets of a given VPC for a new database. @default - isolated ones, else those with a way out */
  readonly databaseSubnets?: ec2.SubnetSelection | undefined;
}

/** @throws Error that names the props which do not go together */
export function checkNetwork({ vpc, egress, database, functionSubnets, databaseSubnets }: NetworkProps): void {
  if (vpc !== undefined) {
    if (egress !== undefined) {
      throw new Error(
        'egress is for a VPC that the queue makes; the given vpc has a way out of its own or none. Leave one of them away.',
      );
    }
    if (databaseSubnets !== undefined && database.vpcNeed !== 'any') {
      throw new Error('advanced.databaseSubnets is where a new database goes, and this one is there already.');
    }
    return;
  }
  if (database.vpcNeed === 'given') {
    throw new Error('vpc is missing: give the VPC that the database is in, or one from which it can be reached.');
  }
  if (functionSubnets !== undefined || databaseSubnets !== undefined) {
    throw new Error(
      'advanced.functionSubnets and advanced.databaseSubnets are subnets of a given vpc: give it as well.',
    );
  }
  if (egress !== undefined && database.vpcNeed === 'optional') {
    throw new Error(
      'egress is for a VPC that the queue makes, and for a database by secret it makes none: its functions run outside any VPC.',
    );
  }
}
