import type { Template } from 'aws-cdk-lib/assertions';
import { LOG_BYTES_A_RUN } from '../../bin/simulate/cost.ts';
import type { Properties } from '../lib/synthesize.ts';
import prices from './prices.json' with { type: 'json' };

/** Names that are published to CloudWatch, each one series of one queue. */
export interface Published {
  readonly metrics: readonly string[];
}

export interface CostLine {
  readonly what: string;
  /** Dollars a month. */
  readonly usd: number;
}

const { perHour, perMonth, perUse, hoursAMonth } = prices;
const MINUTES_A_MONTH = hoursAMonth * 60;

/** Seconds that a run is billed for when there is nothing to do: connect, look, leave. */
const IDLE_RUN_SECONDS = { work: 0.2, reap: 0.5 };

/**
 * What a stack costs in a month in which nobody uses it, by the price table beside this file: resources out of its template,
 * and its schedules as they fire. Where the template has something that costs by the hour and the table has no price, it throws.
 */
export function monthlyCost(template: Template, { metrics }: Published): CostLine[] {
  const resources = Object.values(template.toJSON().Resources as Record<string, Properties>);
  const ofType = (type: string): Properties[] =>
    resources.filter(({ Type }) => Type === type).map(({ Properties }) => Properties ?? {});

  const instances = ofType('AWS::RDS::DBInstance');
  const nats = ofType('AWS::EC2::Instance');
  const gateways = ofType('AWS::EC2::NatGateway');
  const lines = [
    ...instances.map((instance) => ({
      what: `database (${instance.DBInstanceClass}, ${instance.AllocatedStorage} GB)`,
      usd: databaseOf(instance),
    })),
    ...nats.map((instance) => ({ what: `NAT instance (${instance.InstanceType})`, usd: instanceOf(instance) })),
    ...gateways.map(() => ({ what: 'NAT gateway', usd: perHour.natGateway.usd * hoursAMonth })),
    {
      what: 'public IPv4 addresses',
      usd: (nats.length + ofType('AWS::EC2::EIP').length) * perHour.publicIpv4.usd * hoursAMonth,
    },
    {
      what: 'interface endpoints',
      usd: sum(
        ofType('AWS::EC2::VPCEndpoint')
          .filter(({ VpcEndpointType }) => VpcEndpointType === 'Interface')
          .map(({ SubnetIds }) => SubnetIds.length * perHour.interfaceEndpointInAZone.usd * hoursAMonth),
      ),
    },
    ...runs(template),
    {
      what: 'secrets',
      usd:
        (ofType('AWS::SecretsManager::Secret').length +
          instances.filter(({ ManageMasterUserPassword }) => ManageMasterUserPassword === true).length) *
        perMonth.secret.usd,
    },
    { what: 'alarms', usd: sum(ofType('AWS::CloudWatch::Alarm').map(metricsOf)) * perMonth.alarmMetric.usd },
    { what: 'metrics', usd: metrics.length * perMonth.customMetric.usd },
  ];
  return lines.filter(({ usd }) => usd > 0);
}

function databaseOf({ DBInstanceClass, AllocatedStorage, StorageType, MultiAZ }: Properties): number {
  if (StorageType !== 'gp3') throw new Error(`there is no price for storage of type ${StorageType}`);
  const one = priceOf(DBInstanceClass) * hoursAMonth + Number(AllocatedStorage) * perMonth.rdsGp3Gigabyte.usd;
  return MultiAZ === true ? 2 * one : one;
}

function instanceOf({ InstanceType, BlockDeviceMappings = [] }: Properties): number {
  const gigabytes = sum(BlockDeviceMappings.map(({ Ebs }: Properties) => Number(Ebs.VolumeSize)));
  if (gigabytes === 0) throw new Error(`the size of the volume of ${InstanceType} is not said`);
  return priceOf(InstanceType) * hoursAMonth + gigabytes * perMonth.ebsGp3Gigabyte.usd;
}

function priceOf(type: string): number {
  const price = perHour[type as keyof typeof perHour]?.usd;
  if (price === undefined) throw new Error(`there is no price for ${type}: add it to prices.json, with its source`);
  return price;
}

/** What the schedules start: each fires once a minute. */
function runs(template: Template): CostLine[] {
  const functions = template.toJSON().Resources as Record<string, Properties>;
  const schedules = Object.values(template.findResources('AWS::Scheduler::Schedule'));
  let gigabyteSeconds = 0;
  for (const { Properties } of schedules) {
    if (Properties.ScheduleExpression !== 'rate(1 minute)') throw new Error('there is no price for another rhythm');
    const fn = functions[Properties.Target.Arn['Fn::GetAtt'][0]] as Properties;
    const { MemorySize, Architectures, Environment } = fn.Properties;
    if (Architectures[0] !== 'arm64') throw new Error('there is no price for another architecture');
    gigabyteSeconds += (MemorySize / 1024) * billedSeconds(Environment.Variables, JSON.parse(Properties.Target.Input));
  }
  const ticks = schedules.length * MINUTES_A_MONTH;
  return [
    {
      what: 'worker and reaper',
      usd:
        gigabyteSeconds * MINUTES_A_MONTH * perUse.lambdaArm64GigabyteSecond.usd +
        ticks * (perUse.lambdaRequest.usd + perUse.schedulerInvocation.usd),
    },
    { what: 'logs', usd: ((ticks * LOG_BYTES_A_RUN) / 1e9) * perUse.logsGigabyte.usd },
  ];
}

/** With `second` the first slot is always held: the run of each tick is there for a minute. All others find nothing, and leave. */
function billedSeconds({ WORKER_PICKUP }: Properties, { slot }: { slot?: number }): number {
  if (slot === undefined) return IDLE_RUN_SECONDS.reap;
  return WORKER_PICKUP === 'second' && slot === 0 ? 60 : IDLE_RUN_SECONDS.work;
}

/** CloudWatch charges for each metric that an alarm looks at. */
function metricsOf({ Metrics }: Properties): number {
  if (Metrics === undefined) return 1;
  return Metrics.filter(({ MetricStat }: Properties) => MetricStat !== undefined).length;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, n) => total + n, 0);
}
