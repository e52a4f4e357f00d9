import { Annotations, Tokenization } from 'aws-cdk-lib';
import type * as iam from 'aws-cdk-lib/aws-iam';
import type * as rds from 'aws-cdk-lib/aws-rds';
import { CfnDBInstance } from 'aws-cdk-lib/aws-rds';
import type * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import type { IConstruct } from 'constructs';
import type { Network } from '../network/network.ts';
import type { BoundDatabase, DatabaseContext } from './database.ts';
import { maxConnectionsOf } from './instance-memory.ts';
import type { ExistingDatabaseProps } from './job-database-props.ts';

/** An instance that is there already, bound. */
export function existingInstance(
  instance: rds.IDatabaseInstance,
  props: ExistingDatabaseProps,
  context: DatabaseContext,
): BoundDatabase {
  const common = bindExisting(instance, instance.instanceEndpoint, props, context);
  const [instanceClass] = classesOf(instancesIn(instance));
  const { maxConnections } = common;
  return { ...common, monitored: { kind: 'instance', instance, instanceClass, maxConnections } };
}

/** A cluster that is there already, bound. All go to its writer: a reader can claim no job. */
export function existingCluster(
  cluster: rds.IDatabaseCluster,
  props: ExistingDatabaseProps,
  context: DatabaseContext,
): BoundDatabase {
  const common = bindExisting(cluster, cluster.clusterEndpoint, props, context);
  return { ...common, monitored: { kind: 'cluster', cluster, maxConnections: common.maxConnections } };
}

type Server = rds.IDatabaseInstance | rds.IDatabaseCluster;

function bindExisting(
  server: Server,
  { hostname, port }: rds.Endpoint,
  props: ExistingDatabaseProps,
  { network, migrations }: DatabaseContext,
): Omit<BoundDatabase, 'monitored'> {
  checkEngine(server);
  const instances = instancesIn(server);
  const rules = network.allowFunctionsTo(server);
  warnOfNoGroup(network, server);
  return {
    endpoint: { host: hostname, port: Tokenization.stringifyNumber(port), name: props.databaseName ?? 'postgres' },
    adminSecret: migrations === 'onDeploy' ? (props.adminSecret ?? secretOf(server)) : undefined,
    login: props.login,
    certificates: { own: props.ca },
    grantConnect: (grantee: iam.IGrantable, user: string) => server.grantConnect(grantee, user),
    maxConnections: props.maxConnections ?? maxConnectionsOf(classesOf(instances)),
    // A cluster has an address before it has a writer to answer there.
    resources: [...instances, ...rules],
  };
}

/** An imported one may come without its groups, and then the first migration waits for a connection that nobody lets in. */
function warnOfNoGroup(network: Network, { connections }: Server): void {
  if (connections.securityGroups.length > 0) return;
  Annotations.of(network).addWarningV2(
    'millrace:noDatabaseGroup',
    'The database was imported without its security groups, so nothing lets the functions in: give securityGroups where it is imported, or allow them yourself by the connections of the queue.',
  );
}

function checkEngine({ engine }: Server): void {
  if (engine === undefined || engine.engineType.includes('postgres')) return;
  throw new Error(`The database must be Postgres, and this one is ${engine.engineType}.`);
}

/** The secret that the app made it with; an imported one has none. */
function secretOf(server: Server & { readonly secret?: secretsmanager.ISecret }): secretsmanager.ISecret | undefined {
  return server.secret;
}

/** The instances that the app defines; none of one that is imported. */
function instancesIn(server: IConstruct): CfnDBInstance[] {
  return server.node.findAll().filter((construct) => construct instanceof CfnDBInstance);
}

/** Such as `db.r8g.large`. */
function classesOf(instances: readonly CfnDBInstance[]): string[] {
  return instances.flatMap(({ dbInstanceClass }) => dbInstanceClass ?? []);
}
