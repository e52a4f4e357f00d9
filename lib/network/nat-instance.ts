import * as ec2 from 'aws-cdk-lib/aws-ec2';
import { acknowledge } from '../acknowledge.ts';

/** The latest Amazon Linux 2023 of a region, as AWS publishes it. */
const IMAGE = '/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-arm64';

/**
 * Raised by a release that wants the newest image: the launch template changes with it, and CloudFormation replaces the
 * instance in that deploy and in no other. Functions are then without a way out for about a minute.
 */
const IMAGE_ROUND = 1;

/** Makes the instance forward. CDK's own commands give up when the installation fails, which it does at times: */
const SET_UP = [
  // With 512 MiB of memory the installer may be killed (amazon-linux-2023#404).
  'dd if=/dev/zero of=/swapfile bs=1M count=512 && chmod 600 /swapfile && mkswap /swapfile && swapon /swapfile',
  "echo '/swapfile none swap defaults 0 0' >> /etc/fstab",
  // Another process may empty the installer's cache meanwhile (aws-cdk#36717).
  'until dnf install -y iptables-services; do sleep 5; done',
  'systemctl enable --now iptables',
  "echo 'net.ipv4.ip_forward = 1' > /etc/sysctl.d/90-forward.conf && sysctl -p /etc/sysctl.d/90-forward.conf",
  'iptables -F FORWARD',
  `iptables -t nat -A POSTROUTING -o "$(ip -o route show default | awk '{ print $5; exit }')" -j MASQUERADE`,
  'service iptables save',
];

/**
 * The way out of a new VPC: the smallest Graviton instance, which forwards what the functions send. It costs a tenth of a NAT
 * gateway, has no second one to take over, and carries what a few busy workers need (5 Gbit/s in bursts, 32 Mbit/s in the
 * long run).
 *
 * EC2 looks the image up when it launches the instance. As a parameter of the stack, which is the usual way, each deploy would
 * look it up, and every new image, about one in two weeks, replace the instance in the midst of an unrelated deploy.
 */
export class NatInstance {
  readonly provider: ec2.NatInstanceProviderV2;

  constructor() {
    const userData = ec2.UserData.forLinux();
    userData.addCommands(...SET_UP);
    this.provider = new ec2.NatInstanceProviderV2({
      instanceType: ec2.InstanceType.of(ec2.InstanceClass.T4G, ec2.InstanceSize.NANO),
      machineImage: ec2.MachineImage.resolveSsmParameterAtLaunch(IMAGE),
      defaultAllowedTraffic: ec2.NatTrafficDirection.OUTBOUND_ONLY,
      associatePublicIpAddress: true,
      userData,
    });
  }

  /** Sets what the provider has no props for, once it has made its instance. */
  harden(vpc: ec2.Vpc): void {
    // Only a launch template may name an image by a parameter.
    const template = new ec2.CfnLaunchTemplate(vpc, 'NatTemplate', {
      versionDescription: `image ${IMAGE_ROUND}`,
      launchTemplateData: {
        imageId: `resolve:ssm:${IMAGE}`,
        metadataOptions: { httpEndpoint: 'enabled', httpTokens: 'required', httpPutResponseHopLimit: 1 },
      },
    });
    for (const instance of this.provider.gatewayInstances) {
      instance.instance.imageId = undefined;
      instance.instance.launchTemplate = {
        launchTemplateId: template.ref,
        version: template.attrLatestVersionNumber,
      };
      instance.instance.blockDeviceMappings = [
        {
          deviceName: '/dev/xvda',
          ebs: { volumeType: 'gp3', volumeSize: 8, encrypted: true, deleteOnTermination: true },
        },
      ];
      // It installs what it needs as it starts.
      instance.node.addDependency(...vpc.publicSubnets.map((subnet) => subnet.internetConnectivityEstablished));
      acknowledge(instance, REASONS);
    }
  }

  /** Forwards what comes from that group, and from nowhere else. */
  allowFrom(group: ec2.ISecurityGroup): void {
    this.provider.connections.allowFrom(group, ec2.Port.allTraffic(), 'Functions of the job queue');
  }
}

/** Why rules of cdk-nag do not hold for the instance. */
const REASONS = {
  'AwsSolutions-EC28':
    'It forwards packets and holds nothing. Metrics each minute instead of each five cost more than half of what it costs itself.',
  'AwsSolutions-EC29':
    'It holds nothing: whoever terminates it interrupts the way out until it is made again, and a protected one would stop `cdk destroy`.',
};
