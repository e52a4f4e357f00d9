import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { only, synthesize } from './synthesize.ts';

const { UserData } = only(synthesize().template, 'AWS::EC2::Instance');
const script: string = UserData['Fn::Base64'];

let etc: string;
beforeEach(async () => {
  etc = await mkdtemp(join(tmpdir(), 'millrace-nat-'));
});
afterEach(() => rm(etc, { recursive: true, force: true }));

/**
 * What the instance does at its first start: the commands in their order, none of which is run. The installer fails as often
 * as `failures` says.
 */
async function commandsOf(failures: number): Promise<string[]> {
  const recorded = ['dd', 'chmod', 'mkswap', 'swapon', 'sleep', 'systemctl', 'sysctl', 'iptables', 'service'];
  const stubs = [
    ...recorded.map((name) => `${name}() { echo "${name} $*"; }`),
    `dnf() { echo "dnf $*"; (( ++installs > ${failures} )); }`,
    `ip() { echo "default via 10.0.0.1 dev ens5 proto dhcp src 10.0.0.7 metric 512"; }`,
  ];
  const own = script.replace('#!/bin/bash', '').replaceAll('/etc/', `${etc}/`).replaceAll('sysctl.d/', '');
  const { stdout } = await execa('bash', ['-c', [...stubs, own].join('\n')]);
  return stdout.replaceAll(`${etc}/`, '').split('\n');
}

test('the NAT instance forwards what comes in by the interface that has the way out, now and after a restart', async () => {
  expect(await commandsOf(0)).toEqual([
    'dd if=/dev/zero of=/swapfile bs=1M count=512',
    'chmod 600 /swapfile',
    'mkswap /swapfile',
    'swapon /swapfile',
    'dnf install -y iptables-services',
    'systemctl enable --now iptables',
    'sysctl -p 90-forward.conf',
    'iptables -F FORWARD',
    'iptables -t nat -A POSTROUTING -o ens5 -j MASQUERADE',
    'service iptables save',
  ]);
  expect(await readFile(join(etc, '90-forward.conf'), 'utf8')).toBe('net.ipv4.ip_forward = 1\n');
  expect(await readFile(join(etc, 'fstab'), 'utf8')).toBe('/swapfile none swap defaults 0 0\n');
});

test('it tries until what it needs is installed', async () => {
  const install = ['dnf install -y iptables-services', 'sleep 5'];
  const commands = await commandsOf(2);
  expect(commands.slice(4, 10)).toEqual([...install, ...install, install[0], 'systemctl enable --now iptables']);
});
