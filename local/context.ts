import type { Context } from 'aws-lambda';
import type { Invocation } from './function.ts';

/** The second argument of a handler, as the Node 24 runtime of Lambda makes it (which has no callbacks any more). */
export function lambdaContext(
  { requestId, deadline }: Invocation,
  env: NodeJS.ProcessEnv,
): Omit<Context, 'done' | 'fail' | 'succeed'> {
  const functionName = env.AWS_LAMBDA_FUNCTION_NAME ?? '';
  return {
    callbackWaitsForEmptyEventLoop: true,
    functionName,
    functionVersion: env.AWS_LAMBDA_FUNCTION_VERSION ?? '$LATEST',
    invokedFunctionArn: `arn:aws:lambda:${env.AWS_REGION}:000000000000:function:${functionName}`,
    memoryLimitInMB: env.AWS_LAMBDA_FUNCTION_MEMORY_SIZE ?? '',
    awsRequestId: requestId,
    logGroupName: env.AWS_LAMBDA_LOG_GROUP_NAME ?? '',
    logStreamName: env.AWS_LAMBDA_LOG_STREAM_NAME ?? '',
    getRemainingTimeInMillis: () => Math.max(0, deadline - Date.now()),
  };
}
