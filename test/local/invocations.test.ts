import { InvokeCommand, type InvokeCommandInput, LambdaClient } from '@aws-sdk/client-lambda';
import { expect, onTestFinished, test } from 'vitest';
import { openInvocations } from '../../local/invocations.ts';
import { functionOf } from './bundle.ts';

/** Lambda's API on this machine as the AWS SDK sees it, with one function, `Stack-Work`. */
async function lambda() {
  const started: { name: string; event: unknown }[] = [];
  const invocations = await openInvocations(({ name }, event) => started.push({ name, event }));
  const client = new LambdaClient({
    endpoint: invocations.url,
    region: 'us-east-1',
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
    maxAttempts: 1,
  });
  onTestFinished(async () => {
    client.destroy();
    await invocations.close();
  });
  invocations.open(new Map([['Stack-Work', await functionOf('', { name: 'Work' })]]));
  const invoke = (input: Partial<InvokeCommandInput> = {}) =>
    client.send(
      new InvokeCommand({ FunctionName: 'Stack-Work', InvocationType: 'Event', Payload: '{"slot":0}', ...input }),
    );
  return { started, invocations, invoke };
}

test('an event starts a function by its name or ARN, and nobody waits for it', async () => {
  const { started, invoke } = await lambda();
  expect(await invoke()).toMatchObject({ StatusCode: 202 });
  await invoke({ FunctionName: 'arn:aws:lambda:us-east-1:000000000000:function:Stack-Work', Payload: '' });
  expect(started).toEqual([
    { name: 'Work', event: { slot: 0 } },
    { name: 'Work', event: {} },
  ]);
});

test('what cannot be is refused as Lambda refuses it', async () => {
  const { started, invoke, invocations } = await lambda();
  await expect(invoke({ FunctionName: 'Stack-Reap' })).rejects.toMatchObject({
    name: 'ResourceNotFoundException',
    message: 'Function not found: Stack-Reap',
  });
  await expect(invoke({ InvocationType: 'RequestResponse' })).rejects.toMatchObject({
    name: 'InvalidParameterValueException',
  });
  await expect(invoke({ Payload: '{' })).rejects.toMatchObject({ name: 'InvalidRequestContentException' });
  expect((await fetch(`${invocations.url}/2015-03-31/functions/`)).status).toBe(404);
  expect(started).toEqual([]);
});

test('while the runtime stops, events are taken and start nothing', async () => {
  const { started, invocations, invoke } = await lambda();
  invocations.ignore();
  expect(await invoke()).toMatchObject({ StatusCode: 202 });
  expect(started).toEqual([]);
});
