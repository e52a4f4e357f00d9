import { expect, test } from 'vitest';
import { functionOf, idOf, only, synthesize } from './synthesize.ts';

const usual = synthesize();
const { template } = usual;
const [id = ''] = Object.keys(template.findResources('AWS::SQS::Queue'));

test('what failed is kept for two weeks, encrypted', () => {
  expect(only(template, 'AWS::SQS::Queue')).toEqual({
    MessageRetentionPeriod: 14 * 86_400,
    SqsManagedSseEnabled: true,
  });
});

test('nobody reaches it without TLS, and nobody is let in besides', () => {
  const { PolicyDocument, Queues } = only(template, 'AWS::SQS::QueuePolicy');
  expect(Queues).toEqual([{ Ref: id }]);
  expect(PolicyDocument.Statement).toEqual([
    expect.objectContaining({
      Effect: 'Deny',
      Action: 'sqs:*',
      Principal: { AWS: '*' },
      Condition: { Bool: { 'aws:SecureTransport': 'false' } },
    }),
  ]);
});

test.each(['work', 'reap'] as const)('what %s was asked to run and could not ends there', (name) => {
  const config = only(template, 'AWS::Lambda::EventInvokeConfig', {
    FunctionName: { Ref: idOf(functionOf(usual, name)) },
  });
  expect(config.DestinationConfig).toEqual({ OnFailure: { Destination: { 'Fn::GetAtt': [id, 'Arn'] } } });
});
