import { createHash } from 'node:crypto';
import { Stack, Token } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import { Construct, type IDependable } from 'constructs';

/** Days that a password lives. */
const ROTATION_DAYS = 30;

/**
 * The login that functions use: a secret with a name and a password. The migration makes the user in the database, as a
 * member of the five roles; who owns the tables is another, whose secret no other function reads.
 */
export class Login extends Construct {
  readonly secret: secretsmanager.ISecret;

  constructor(scope: Construct, id: string) {
    super(scope, id);
    const secret: unknown = new secretsmanager.Secret(this, 'Secret', {
      description: 'Login of the Millrace functions to their database',
      // CloudFormation makes a new password whenever a word of this changes, and then the database knows it only after the
      // next migration. So it rests on what never changes for a queue that is there.
      generateSecretString: {
        secretStringTemplate: JSON.stringify({ username: usernameOf(this) }),
        generateStringKey: 'password',
        passwordLength: 48,
        excludePunctuation: true,
      },
    });
    // Secret is an ISecret in all but exactOptionalPropertyTypes, which CDK's types do not know.
    this.secret = secret as secretsmanager.ISecret;
  }

  /**
   * Changes the password each 30 days. Not at once: what the migration has just made is new.
   * @param rotate our function that does it; Secrets Manager tries it when the schedule is made
   * @param after the migration, which makes the user
   */
  rotateWith(rotate: lambda.Function, after: IDependable): void {
    const invoke = new lambda.CfnPermission(this, 'InvokeRotation', {
      action: 'lambda:InvokeFunction',
      functionName: rotate.functionArn,
      principal: 'secretsmanager.amazonaws.com',
      sourceAccount: Stack.of(this).account,
    });
    // Not CDK's RotationSchedule: that would also let the function call GetRandomPassword, on every resource.
    const schedule = new secretsmanager.CfnRotationSchedule(this, 'Rotation', {
      secretId: this.secret.secretArn,
      rotationLambdaArn: rotate.functionArn,
      rotationRules: { automaticallyAfterDays: ROTATION_DAYS },
      rotateImmediatelyOnUpdate: false,
    });
    schedule.node.addDependency(invoke, after);
  }

  /** What the rotation needs of the secret. */
  grantRotate(grantee: iam.IGrantable): void {
    this.secret.grantRead(grantee);
    iam.Grant.addToPrincipal({
      grantee,
      actions: [
        'secretsmanager:ListSecretVersionIds',
        'secretsmanager:PutSecretValue',
        'secretsmanager:UpdateSecretVersionStage',
      ],
      resourceArns: [this.secret.secretArn],
    });
  }
}

/**
 * Logins belong to the server, and queues that share one must not share a login: each would set the other's password. They
 * differ by where they are in their app, or, with an app that is deployed more than once, by the name of the stack.
 */
function usernameOf(login: Construct): string {
  const { stackName } = Stack.of(login);
  const known = Token.isUnresolved(stackName) ? '' : stackName;
  const digest = createHash('sha256').update(`${known}/${login.node.addr}`).digest('hex');
  return `millrace_app_${digest.slice(0, 8)}`;
}
