import { SecretValue } from 'aws-cdk-lib';
import * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import type { Construct } from 'constructs';
import { acknowledge } from '../acknowledge.ts';

/**
 * The secret with the tokens that open the API, as `npm run token` writes them: hashes only. It begins with none, so nobody
 * gets in; a later deploy leaves alone what was put in since, because CloudFormation writes a value only when the one in the
 * template changes.
 */
export function tokensSecret(scope: Construct, id: string): secretsmanager.ISecret {
  const secret: unknown = new secretsmanager.Secret(scope, id, {
    description: 'Hashes of the tokens that open the Millrace API',
    secretStringValue: SecretValue.unsafePlainText('{"tokens":[]}'),
  });
  // Secret is an ISecret in all but exactOptionalPropertyTypes, which CDK's types do not know.
  const tokens = secret as secretsmanager.ISecret;
  acknowledge(tokens, {
    'AwsSolutions-SMG4':
      'It holds hashes, which open nothing. Each token expires by itself, and is replaced by making another beside it and giving that to the caller: no schedule could do so.',
  });
  return tokens;
}
