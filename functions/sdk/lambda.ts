/** `#sdk/lambda`: what of it goes into bundles; the rest would be three quarters of it. */
export { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
