import { Duration } from 'aws-cdk-lib';
import type * as lambda from 'aws-cdk-lib/aws-lambda';
import { Trigger } from 'aws-cdk-lib/triggers';
import type { Construct } from 'constructs';
import { tameProvider } from '../functions/provider-functions.ts';

/** One minute less than the custom resource has that waits for it, so that a slow migration fails by its own name. */
export const MIGRATION_TIMEOUT = Duration.minutes(14);

export interface MigrationProps {
  /** Called on each deploy that changes it. It must accept a database that is ahead: a rollback calls the old one again. */
  readonly migrate: lambda.Function;
  /** What it needs: the database, and the way to it. */
  readonly after: readonly Construct[];
  /** What needs the new schema: created or updated only once the migrations have succeeded. */
  readonly before: readonly Construct[];
}

/** Migrates the database during a deploy, before new code takes traffic. A failing migration fails the deploy. */
export function migrateOnDeploy(scope: Construct, id: string, { migrate, after, before }: MigrationProps): Trigger {
  const trigger = new Trigger(scope, id, {
    handler: migrate,
    timeout: MIGRATION_TIMEOUT,
    executeAfter: [...after],
    executeBefore: [...before],
  });
  tameProvider(scope, 'AWSCDK.TriggerCustomResourceProvider');
  return trigger;
}
