import { Duration, Token } from 'aws-cdk-lib';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import type { Monitored, MonitoredInstance } from '../database/database.ts';
import type { AlarmRule } from './alarm-rule.ts';

const ONE_MINUTE = Duration.minutes(1);
const FIVE_MINUTES = Duration.minutes(5);
const { AVERAGE, MAXIMUM, MINIMUM } = cloudwatch.Stats;

const GIBIBYTE = 1024 ** 3;

/** What CloudWatch says of the database; of each only what its kind has. Aurora's disk has no end and no bursts. */
export function databaseAlarms(database: Monitored): AlarmRule[] {
  const shared = [...connections(database), cpu(database)];
  if (database.kind === 'cluster') return shared;
  return [...shared, ...cpuCredits(database), ...diskBurst(database), storage(database)];
}

function metricOf(database: Monitored, name: string, options: cloudwatch.MetricOptions): cloudwatch.Metric {
  return database.kind === 'cluster' ? database.cluster.metric(name, options) : database.instance.metric(name, options);
}

/** Not without the number of those that it takes: there is nothing to compare with. */
function connections(database: Monitored): AlarmRule[] {
  if (database.maxConnections === undefined) return [];
  return [
    {
      id: 'DatabaseConnections',
      says: 'Four fifths of the connections that the database takes are in use.',
      // Postgres keeps the last three for its superuser; a burst of the API opens some dozens within seconds.
      metric: metricOf(database, 'DatabaseConnections', { period: ONE_MINUTE, statistic: MAXIMUM }),
      threshold: Math.floor(database.maxConnections * 0.8),
      periods: 5,
    },
  ];
}

function cpu(database: Monitored): AlarmRule {
  return {
    id: 'DatabaseCpu',
    says: 'The database has used more than nine tenths of its processors for 15 minutes.',
    // Upkeep and a backlog that is worked off take minutes; a quarter of an hour is what it has become.
    metric: metricOf(database, 'CPUUtilization', { period: FIVE_MINUTES, statistic: AVERAGE }),
    threshold: 90,
    periods: 3,
  };
}

/** Classes that share their processors earn and spend credits; a class that is not known is not asked for them. */
export function hasCredits(database: MonitoredInstance): boolean {
  return classOf(database)?.family.startsWith('t') === true;
}

function cpuCredits(database: MonitoredInstance): AlarmRule[] {
  if (!hasCredits(database)) return [];
  return [
    {
      id: 'DatabaseCpuCredits',
      says: 'The database has used up its CPU credits for an hour: more CPU costs extra.',
      // A new instance begins without any, and the smallest one earns 12 an hour: after half an hour it has 6.
      metric: metricOf(database, 'CPUCreditBalance', { period: FIVE_MINUTES, statistic: MAXIMUM }),
      threshold: 6,
      comparison: '<',
      periods: 12,
    },
  ];
}

/** Up to this size instances have more bandwidth to their disk than they may use all day; larger ones have it all day. */
const BURSTING_SIZES = ['micro', 'small', 'medium', 'large', 'xlarge', '2xlarge'];

/**
 * Of the two balances the one of operations: the smallest class may make 500 a second and move 10.9 MB in the long run, so
 * operations run out first as long as they are below 21 KB on average, and a queue's are pages of 8 KB and short commits.
 */
function diskBurst(database: MonitoredInstance): AlarmRule[] {
  if (!BURSTING_SIZES.includes(classOf(database)?.size ?? '')) return [];
  return [
    {
      id: 'DatabaseDiskBurst',
      says: 'The database has less than a third of its burst of disk operations left.',
      // At 0 the smallest class makes 500 a second in place of 3,000. Backups and a vacuum take less than this.
      metric: metricOf(database, 'EBSIOBalance%', { period: FIVE_MINUTES, statistic: MINIMUM }),
      threshold: 33,
      comparison: '<',
      periods: 3,
    },
  ];
}

function storage(database: MonitoredInstance): AlarmRule {
  // Of a disk whose size is not known, as of the smallest.
  const { allocatedGibibytes = 20 } = database;
  return {
    id: 'DatabaseStorage',
    says: 'The disk of the database is nearly full.',
    // RDS makes a disk that may grow larger when a tenth is left: below that it has not, and at 0 it stops.
    metric: metricOf(database, 'FreeStorageSpace', { period: FIVE_MINUTES, statistic: MINIMUM }),
    threshold: Math.round(Math.max(1, allocatedGibibytes * 0.08) * GIBIBYTE),
    comparison: '<',
    periods: 3,
  };
}

/** `db.t4g.micro` → family t4g, size micro. */
function classOf({ instanceClass }: MonitoredInstance): { family: string; size: string } | undefined {
  if (instanceClass === undefined || Token.isUnresolved(instanceClass)) return undefined;
  const [, family, size] = /^(?:db\.)?(\w+)\.(\w+)$/.exec(instanceClass) ?? [];
  return family && size ? { family, size } : undefined;
}
