import { isNotFound } from '../lambda/secret.ts';
import { withSecretsManager } from '../lambda/secrets-manager.ts';

/** The versions of one secret. Labels (stages) lie on them: each label on one version, a version may have several. */
export class SecretVersions {
  readonly #arn: string;

  constructor(arn: string) {
    this.#arn = arn;
  }

  /** Labels by the ids of the versions that have any. */
  async labels(): Promise<ReadonlyMap<string, readonly string[]>> {
    return withSecretsManager(async (client, { DescribeSecretCommand }) => {
      const { VersionIdsToStages = {} } = await client.send(new DescribeSecretCommand({ SecretId: this.#arn }));
      return new Map(Object.entries(VersionIdsToStages));
    });
  }

  /** Id of the version that a label lies on at the moment. */
  async withLabel(label: string): Promise<string | undefined> {
    return versionWith(label, await this.labels());
  }

  /** The text of a version; undefined if it has none, as one that was only announced. */
  async read(versionId: string): Promise<string | undefined> {
    return withSecretsManager(async (client, { GetSecretValueCommand }) => {
      try {
        const answer = await client.send(new GetSecretValueCommand({ SecretId: this.#arn, VersionId: versionId }));
        return answer.SecretString;
      } catch (error) {
        if (isNotFound(error)) return undefined;
        throw error;
      }
    });
  }

  /** Gives a version its text, once and for all: of two who do it at once, the first has done it for both. */
  async write(versionId: string, text: string): Promise<void> {
    await withSecretsManager(async (client, { PutSecretValueCommand }) => {
      const [SecretId, VersionStages] = [this.#arn, ['AWSPENDING']];
      try {
        await client.send(
          new PutSecretValueCommand({ SecretId, ClientRequestToken: versionId, SecretString: text, VersionStages }),
        );
      } catch (error) {
        if (!(error instanceof Error && error.name === 'ResourceExistsException')) throw error;
      }
    });
  }

  /** Makes a version current in place of another, which becomes the previous one. */
  async makeCurrent(versionId: string, inPlaceOf: string): Promise<void> {
    await withSecretsManager(async (client, { UpdateSecretVersionStageCommand }) => {
      await client.send(
        new UpdateSecretVersionStageCommand({
          SecretId: this.#arn,
          VersionStage: 'AWSCURRENT',
          MoveToVersionId: versionId,
          RemoveFromVersionId: inPlaceOf,
        }),
      );
    });
  }

  /** Ids of the newest versions, also of those without any label, which AWS keeps for a day at least. */
  async newest(): Promise<string[]> {
    return withSecretsManager(async (client, { ListSecretVersionIdsCommand }) => {
      const { Versions = [] } = await client.send(
        new ListSecretVersionIdsCommand({ SecretId: this.#arn, IncludeDeprecated: true, MaxResults: 100 }),
      );
      const madeAt = ({ CreatedDate }: { CreatedDate?: Date | undefined }) => CreatedDate?.getTime() ?? 0;
      return Versions.sort((a, b) => madeAt(b) - madeAt(a)).flatMap(({ VersionId }) => VersionId ?? []);
    });
  }
}

export function versionWith(label: string, labels: ReadonlyMap<string, readonly string[]>): string | undefined {
  return [...labels].find(([, own]) => own.includes(label))?.[0];
}
