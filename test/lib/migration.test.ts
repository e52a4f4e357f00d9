import { expect, test } from 'vitest';
import { idOf, only, synthesize } from './synthesize.ts';

const { queue, template } = synthesize();
const resources: Record<string, { Type: string; DependsOn?: string[] }> = template.toJSON().Resources;
const ofType = (type: string) => Object.keys(resources).filter((id) => resources[id]?.Type === type);
const [migration = ''] = ofType('Custom::Trigger');
const { migrate, ...others } = queue.functions;

test('a deploy migrates with the new code, and waits for it as long as it may take', () => {
  const { HandlerArn, InvocationType, Timeout } = only(template, 'Custom::Trigger');
  expect(template.findResources('AWS::Lambda::Version')[HandlerArn.Ref]?.Properties.FunctionName).toEqual({
    Ref: idOf(migrate),
  });
  expect(InvocationType).toBe('RequestResponse');
  expect(Number(Timeout)).toBe((migrate.timeout?.toSeconds() ?? 0) * 1000);
});

test('the database and the way to it are there before', () => {
  expect(resources[migration]?.DependsOn).toEqual(
    expect.arrayContaining([
      idOf(queue.database),
      ...ofType('AWS::SecretsManager::SecretTargetAttachment'),
      ...ofType('AWS::EC2::SecurityGroupIngress'),
      ...ofType('AWS::EC2::VPCEndpoint'),
    ]),
  );
});

test.each(Object.keys(others) as (keyof typeof others)[])('%s takes its new code only afterwards', (name) => {
  expect(resources[idOf(others[name])]?.DependsOn).toContain(migration);
});
