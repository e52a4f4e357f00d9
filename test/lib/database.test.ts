import { expect, test } from 'vitest';
import { idOf, only, synthesize } from './synthesize.ts';

const { queue, template } = synthesize();
const instance = template.toJSON().Resources[idOf(queue.database)];

test('the database is small, encrypted, and not on the internet', () => {
  expect(instance.Properties).toMatchObject({
    Engine: 'postgres',
    EngineVersion: '18',
    DBInstanceClass: 'db.t4g.micro',
    AllocatedStorage: '20',
    StorageType: 'gp3',
    StorageEncrypted: true,
    PubliclyAccessible: false,
    BackupRetentionPeriod: 7,
  });
});

test('it is not deleted by mistake, and leaves a snapshot otherwise', () => {
  expect(instance.Properties.DeletionProtection).toBe(true);
  expect(instance).toMatchObject({ DeletionPolicy: 'Snapshot', UpdateReplacePolicy: 'Snapshot' });
});

test('only the functions may connect', () => {
  const own = instance.Properties.VPCSecurityGroups;
  const ingress = only(template, 'AWS::EC2::SecurityGroupIngress', { GroupId: own[0] });
  const [functions] = queue.functions.work.connections.securityGroups;
  expect(own).toHaveLength(1);
  expect(template.toJSON().Resources[own[0]['Fn::GetAtt'][0]].Properties.SecurityGroupIngress).toBeUndefined();
  expect(ingress.SourceSecurityGroupId).toEqual({ 'Fn::GetAtt': [functions && idOf(functions), 'GroupId'] });
  expect(ingress.FromPort).toEqual({ 'Fn::GetAtt': [idOf(queue.database), 'Endpoint.Port'] });
});

test('its password is nowhere in the template', () => {
  expect(JSON.stringify(instance.Properties.MasterUserPassword)).toMatch(
    /resolve:secretsmanager:.*SecretString:password/,
  );
});
