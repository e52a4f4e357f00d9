import { SCHEMA_VERSION } from '../../../functions/lambda/schema-version.ts';
import { migrationsDirectory } from '../../../functions/migrate/directory.ts';
import { readMigrations } from '../../../functions/migrate/files.ts';
import { lookAtHistory } from '../../../functions/migrate/history.ts';
import { statusOf } from '../../migrate/status.ts';
import type { Check } from '../check.ts';
import type { Deployment } from '../deployment.ts';
import { type Finding, failed, ok, warning } from '../finding.ts';

const SEE = 'docs/doctor.md#schema';
const MIGRATE = { remedy: 'Deploy this release, or run npx millrace migrate.', see: SEE } as const;

/** Whether the schema is that of this release: by the database, with what was applied, if it can be asked; else by the API. */
export const schema: Check = {
  id: 'schema',
  examine: async (deployment) => {
    if (deployment.sql === undefined) return versionFinding((await deployment.state()).schemaVersion, true);
    const history = await deployment.ask(lookAtHistory);
    const { version, migrations } = statusOf(await readMigrations(migrationsDirectory()), history);
    const changed = migrations.filter(({ state }) => state === 'changed');
    if (changed.length > 0) {
      const remedy =
        'Another text was applied than this release has: find out which, before anything else is migrated.';
      return failed(`migrations differ: ${changed.map(({ file }) => file).join(', ')}`, { remedy, see: SEE });
    }
    return versionFinding(version, await isContent(deployment));
  },
};

/** An older release has the older schema that it wants. */
async function isContent(deployment: Deployment): Promise<boolean> {
  return deployment.ready().then(
    ({ status }) => status === 200,
    () => false,
  );
}

function versionFinding(version: number, isContent: boolean): Finding {
  if (version === SCHEMA_VERSION) return ok(`version ${version}, as this release has it`);
  if (version > SCHEMA_VERSION)
    return ok(`version ${version}; this release has ${SCHEMA_VERSION}, and works on newer ones`);
  const found = `version ${version}, and this release has ${SCHEMA_VERSION}`;
  return isContent ? warning(`${found}: what is deployed is older`, MIGRATE) : failed(found, MIGRATE);
}
