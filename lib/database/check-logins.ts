import type { BoundDatabase, DatabaseContext } from './database.ts';

/** @throws Error that says which login is missing, or too many */
export function checkLogins(database: BoundDatabase, { auth, migrations }: DatabaseContext): void {
  if (auth === 'iam' && database.grantConnect === undefined) {
    throw new Error(
      "databaseAuth 'iam' needs an RDS instance or an Aurora cluster of this account: JobDatabase.newInstance, fromInstance or fromCluster.",
    );
  }
  if (auth === 'iam' && database.login !== undefined) {
    throw new Error(
      "The login of the database is for databaseAuth 'secret': with 'iam' each function logs in by token.",
    );
  }
  if (migrations === 'onDeploy' && database.adminSecret === undefined) {
    throw new Error(
      'The adminSecret of the database is missing: the migration logs in with it, and an imported database brings none. Give it ' +
        "to JobDatabase, or migrate yourself and set migrations: 'external'.",
    );
  }
  if (migrations === 'external' && auth === 'secret' && database.login === undefined) {
    throw new Error(
      "The login of the database is missing: with migrations: 'external' no deploy makes one. Give a login that is a member of " +
        "the five millrace roles to JobDatabase, or set databaseAuth: 'iam' and make its logins (docs/roles.md).",
    );
  }
}
