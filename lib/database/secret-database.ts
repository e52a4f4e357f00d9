import { Token } from 'aws-cdk-lib';
import * as ec2 from 'aws-cdk-lib/aws-ec2';
import type * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import type { Network } from '../network/network.ts';
import type { BoundDatabase, DatabaseContext, Endpoint } from './database.ts';
import type { SecretDatabaseProps } from './job-database-props.ts';

/** Any Postgres, bound: where it is stands in its secrets. */
export function databaseBySecret(props: SecretDatabaseProps, { network, migrations }: DatabaseContext): BoundDatabase {
  const adminSecret = migrations === 'onDeploy' ? props.adminSecret : undefined;
  const endpoint = endpointOf(props, adminSecret);
  return {
    endpoint,
    adminSecret,
    login: props.login,
    certificates: props.ca === undefined ? undefined : { own: props.ca === 'rds' ? undefined : props.ca },
    grantConnect: undefined,
    monitored: undefined,
    maxConnections: props.maxConnections,
    resources: letIn(props, endpoint, network),
  };
}

/** @returns the rules that let the functions in */
function letIn({ securityGroup, port }: SecretDatabaseProps, endpoint: Partial<Endpoint>, network: Network) {
  if (securityGroup === undefined) return [];
  if (network.vpc === undefined) {
    throw new Error('The securityGroup of a database by secret is one of a VPC: give the queue that vpc as well.');
  }
  const defaultPort = ec2.Port.tcp(port ?? Token.asNumber(endpoint.port ?? 5432));
  return network.allowFunctionsTo(new ec2.Connections({ securityGroups: [securityGroup], defaultPort }));
}

/**
 * A login of our own holds a name and a password alone, so where the server is comes from the administrator's secret: the
 * deploy reads it there and writes it, no secret itself, into the functions' environment. A given login says it itself.
 */
function endpointOf(props: SecretDatabaseProps, admin: secretsmanager.ISecret | undefined): Partial<Endpoint> {
  const said = (key: string) => (props.login ? undefined : admin?.secretValueFromJson(key).unsafeUnwrap());
  const host = props.host ?? said('host');
  const port = props.port === undefined ? said('port') : String(props.port);
  const name = props.databaseName ?? said('dbname');
  return { ...(host && { host }), ...(port && { port }), ...(name && { name }) };
}
