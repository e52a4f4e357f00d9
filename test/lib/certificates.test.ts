import { X509Certificate } from 'node:crypto';
import { Aws } from 'aws-cdk-lib';
import { expect, test } from 'vitest';
import { certificateFiles, certificatePath } from '../../lib/bundles/certificates.ts';
import { CA_FILE } from './synthesize.ts';

function certificatesIn(pem: Uint8Array): X509Certificate[] {
  const texts = new TextDecoder().decode(pem).split(/(?<=-----END CERTIFICATE-----\n)/);
  return texts.map((text) => new X509Certificate(text));
}

test.each([...certificateFiles()])('%s has the roots of its region and the public ones, none expired', (path, pem) => {
  const region = /^rds-ca\/(.+)\.pem$/.exec(path)?.[1];
  const certificates = certificatesIn(pem);
  const subjects = certificates.map(({ subject }) => subject);
  expect(subjects.filter((subject) => subject.includes(`CN=Amazon RDS ${region} Root CA`))).toHaveLength(3);
  expect(subjects.filter((subject) => subject.includes('Amazon RDS'))).toHaveLength(3);
  expect(subjects).toEqual(expect.arrayContaining([expect.stringContaining('CN=Amazon Root CA 1')]));
  expect(certificates.filter(({ validTo }) => new Date(validTo) < new Date())).toEqual([]);
});

test('the path is that of the region, known or not', () => {
  expect(certificatePath('eu-central-1')).toBe('rds-ca/eu-central-1.pem');
  expect(certificatePath(Aws.REGION)).toBe(`rds-ca/${Aws.REGION}.pem`);
});

test('a region without certificates is refused, with the way out', () => {
  expect(() => certificatePath('mx-central-1')).toThrow(/RDS in mx-central-1 .*give its path to JobDatabase as ca/);
  expect(certificatePath('mx-central-1', CA_FILE)).toBe('rds-ca/own.pem');
});

test.each([
  ['mx-central-1', 'https://truststore.pki.rds.amazonaws.com/mx-central-1/mx-central-1-bundle.pem'],
  ['us-gov-east-1', 'https://truststore.pki.us-gov-west-1.rds.amazonaws.com/us-gov-east-1/us-gov-east-1-bundle.pem'],
  ['cn-north-1', 'https://rds-truststore.s3.cn-north-1.amazonaws.com.cn/cn-north-1/cn-north-1-bundle.pem'],
])('those of %s are at the servers of its partition', (region, url) => {
  expect(() => certificatePath(region)).toThrow(url);
});
