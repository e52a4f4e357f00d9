import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

interface Version {
  readonly createdAt: number;
  /** undefined: announced, as the pending version of a rotation before its first step. */
  text: string | undefined;
}

interface Secret {
  readonly versions: Map<string, Version>;
  /** The version that each label lies on. */
  readonly labels: Map<string, string>;
  deleted: boolean;
}

type Input = Readonly<Record<string, unknown>>;

/** Secrets Manager on loopback: speaks its protocol to the real SDK, and keeps versions and labels as it does. */
export interface SecretsManager {
  /** What a process needs to find it in place of AWS. */
  readonly environment: Readonly<Record<string, string>>;
  /** Requests so far, `GetSecretValue AWSCURRENT` or by the version's id. */
  readonly asked: string[];
  /** `pass` answers, `hang` never does, and a number of requests to come is throttled. */
  mode: 'pass' | 'hang' | { throttle: number };
  /** Makes a secret whose current version is `value`. Returns its ARN. */
  create(value: unknown): string;
  /** A new version becomes current, as by PutSecretValue. */
  put(arn: string, value: unknown, label?: string): string;
  /** As RotateSecret: announces the pending version. Returns its id, the token of the rotation. */
  startRotation(arn: string): string;
  /** As when somebody takes AWSPENDING off a rotation that hangs: its version has no label any more. */
  callOffRotation(arn: string): void;
  /** As the end of a rotation: the pending version is the current one, and pending no longer. */
  finishRotation(arn: string): void;
  /** Is called with each request before it is answered. */
  onRequest: (() => void) | undefined;
  /** The text of a label's version, parsed. */
  value(arn: string, label?: string): Record<string, unknown> | undefined;
  /** The version's id. */
  versionOf(arn: string, label: string): string | undefined;
  remove(arn: string): void;
  close(): Promise<void>;
}

/** An error as AWS answers with it. */
class Refusal extends Error {
  readonly type: string;
  constructor(type: string, message: string) {
    super(message);
    this.type = type;
  }
}

export async function startSecretsManager(): Promise<SecretsManager> {
  const secrets = new Map<string, Secret>();
  const asked: string[] = [];
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

  const manager: SecretsManager = {
    environment: {
      AWS_ENDPOINT_URL_SECRETS_MANAGER: `http://127.0.0.1:${(server.address() as { port: number }).port}`,
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: 'AKIDTEST',
      AWS_SECRET_ACCESS_KEY: 'test',
    },
    asked,
    mode: 'pass',
    create(value) {
      const arn = `arn:aws:secretsmanager:us-east-1:000000000000:secret:millrace-${randomUUID().slice(0, 6)}`;
      secrets.set(arn, { versions: new Map(), labels: new Map(), deleted: false });
      manager.put(arn, value);
      return arn;
    },
    put(arn, value, label = 'AWSCURRENT') {
      const id = randomUUID();
      const text = typeof value === 'string' ? value : JSON.stringify(value);
      known(arn).versions.set(id, { createdAt: Date.now(), text });
      move(known(arn), label, id);
      return id;
    },
    startRotation(arn) {
      const { versions, labels } = known(arn);
      const pending = labels.get('AWSPENDING');
      if (pending !== undefined && pending !== labels.get('AWSCURRENT')) {
        throw new Refusal(
          'InvalidRequestException',
          'A previous rotation isn’t complete. That rotation will be reattempted.',
        );
      }
      const id = randomUUID();
      versions.set(id, { createdAt: Date.now(), text: undefined });
      labels.set('AWSPENDING', id);
      return id;
    },
    callOffRotation: (arn) => void known(arn).labels.delete('AWSPENDING'),
    finishRotation(arn) {
      move(known(arn), 'AWSCURRENT', String(known(arn).labels.get('AWSPENDING')));
      manager.callOffRotation(arn);
    },
    onRequest: undefined,
    value(arn, label = 'AWSCURRENT') {
      const text = known(arn).versions.get(known(arn).labels.get(label) ?? '')?.text;
      return text === undefined ? undefined : JSON.parse(text);
    },
    versionOf: (arn, label) => known(arn).labels.get(label),
    remove(arn) {
      known(arn).deleted = true;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return manager;

  function known(arn: unknown): Secret {
    const secret = secrets.get(String(arn));
    if (secret === undefined)
      throw new Refusal('ResourceNotFoundException', 'Secrets Manager can’t find the specified secret.');
    return secret;
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const input: Input = JSON.parse(await textOf(request));
    const action = String(request.headers['x-amz-target']).replace('secretsmanager.', '');
    asked.push([action, input.VersionStage ?? input.VersionId].filter(Boolean).join(' '));
    manager.onRequest?.();
    if (manager.mode === 'hang') return;
    try {
      if (
        !/^AWS4-HMAC-SHA256 Credential=AKIDTEST\/\d{8}\/us-east-1\/secretsmanager\//.test(
          request.headers.authorization ?? '',
        )
      ) {
        throw new Refusal('IncompleteSignatureException', 'The request is not signed for this service.');
      }
      if (typeof manager.mode === 'object' && manager.mode.throttle-- > 0) {
        throw new Refusal('ThrottlingException', 'Rate exceeded');
      }
      end(response, 200, act(action, input));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      end(response, 400, { __type: error.type, Message: error.message });
    }
  }

  function act(action: string, input: Input): object {
    const secret = known(input.SecretId);
    if (secret.deleted && action !== 'DescribeSecret') {
      throw new Refusal(
        'InvalidRequestException',
        'You can’t perform this operation on the secret because it was marked for deletion.',
      );
    }
    const perform = ACTIONS[action];
    if (perform === undefined) throw new Refusal('UnknownOperationException', action);
    return { ARN: input.SecretId, Name: 'millrace', ...perform(secret, input) };
  }
}

const ACTIONS: Readonly<Record<string, (secret: Secret, input: Input) => object>> = {
  GetSecretValue(secret, { VersionId, VersionStage = VersionId === undefined ? 'AWSCURRENT' : undefined }) {
    const id = VersionId ?? secret.labels.get(String(VersionStage));
    const version = secret.versions.get(String(id));
    if (version?.text === undefined) {
      const which = VersionId === undefined ? `staging label: ${VersionStage}` : `VersionId: ${VersionId}`;
      throw new Refusal(
        'ResourceNotFoundException',
        `Secrets Manager can’t find the specified secret value for ${which}`,
      );
    }
    return { VersionId: id, SecretString: version.text, VersionStages: labelsOf(secret, String(id)) };
  },
  PutSecretValue(secret, { ClientRequestToken, SecretString, VersionStages }) {
    const id = String(ClientRequestToken);
    const version = secret.versions.get(id);
    if (version?.text !== undefined && version.text !== SecretString) {
      throw new Refusal(
        'ResourceExistsException',
        'You can’t modify an existing version, you can only create a new version.',
      );
    }
    secret.versions.set(id, { createdAt: version?.createdAt ?? Date.now(), text: String(SecretString) });
    for (const label of (VersionStages as string[] | undefined) ?? ['AWSCURRENT']) move(secret, label, id);
    return { VersionId: id, VersionStages: labelsOf(secret, id) };
  },
  DescribeSecret(secret) {
    const labelled = [...secret.versions.keys()].filter((id) => labelsOf(secret, id).length > 0);
    return {
      RotationEnabled: true,
      VersionIdsToStages: Object.fromEntries(labelled.map((id) => [id, labelsOf(secret, id)])),
    };
  },
  ListSecretVersionIds(secret, { IncludeDeprecated }) {
    const versions = [...secret.versions].map(([VersionId, { createdAt }]) => ({
      VersionId,
      VersionStages: labelsOf(secret, VersionId),
      CreatedDate: createdAt / 1000,
    }));
    return { Versions: versions.filter(({ VersionStages }) => IncludeDeprecated || VersionStages.length > 0) };
  },
  UpdateSecretVersionStage(secret, { VersionStage, MoveToVersionId, RemoveFromVersionId }) {
    const label = String(VersionStage);
    const holder = secret.labels.get(label);
    if (holder !== undefined && holder !== RemoveFromVersionId) {
      throw new Refusal(
        'InvalidParameterException',
        `Staging label ${label} is currently attached to version ${holder}.`,
      );
    }
    if (!secret.versions.has(String(MoveToVersionId))) {
      throw new Refusal('ResourceNotFoundException', 'Secrets Manager can’t find the specified secret version.');
    }
    move(secret, label, String(MoveToVersionId));
    return {};
  },
};

/** AWSPREVIOUS follows AWSCURRENT by itself. */
function move({ labels }: Secret, label: string, id: string): void {
  const before = labels.get(label);
  labels.set(label, id);
  if (label === 'AWSCURRENT' && before !== undefined && before !== id) labels.set('AWSPREVIOUS', before);
}

function labelsOf({ labels }: Secret, id: string): string[] {
  return [...labels].flatMap(([label, holder]) => (holder === id ? [label] : []));
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

function end(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/x-amz-json-1.1' }).end(JSON.stringify(body));
}
