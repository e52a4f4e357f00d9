import { expect, vi } from '../support/fixtures.ts';

/** The lines that functions have written to stdout, which is spied on. */
export const written = () => vi.mocked(process.stdout.write).mock.calls.map(([line]) => JSON.parse(String(line)));

/** Of CloudWatch's MetricDatum. */
const UNITS =
  /^(Seconds|Microseconds|Milliseconds|((Kilo|Mega|Giga|Tera)?(bits|bytes)|Bits|Bytes|Kilobits|Kilobytes|Megabits|Megabytes|Gigabits|Gigabytes|Terabits|Terabytes|Count)(\/Second)?|Percent|None)$/;

/**
 * The metrics that a function has handed to CloudWatch so far, in the order of its lines: names, values, units. Each line is
 * looked at as CloudWatch does (specification of the embedded metric format): one that does not fit gives no metrics, and
 * nobody is told.
 */
export function publishedMetrics(): { name: string; value: number; unit: string; queue: string }[] {
  return written()
    .filter((line) => '_aws' in line)
    .flatMap((line) => {
      const { Timestamp, CloudWatchMetrics } = line._aws;
      expect(Number.isInteger(Timestamp)).toBe(true);
      expect(Math.abs(Timestamp - Date.now())).toBeLessThan(60_000);
      expect(CloudWatchMetrics).toEqual([
        { Namespace: 'Millrace', Dimensions: [['JobQueue']], Metrics: expect.any(Array) },
      ]);
      expect(line.JobQueue).toBeTypeOf('string');
      expect(line.JobQueue).toMatch(/^[ -~]{1,1024}$/);
      const [{ Metrics }] = CloudWatchMetrics;
      expect(Metrics.length).toBeGreaterThan(0);
      expect(Metrics.length).toBeLessThanOrEqual(100);
      return Metrics.map(({ Name, Unit, ...rest }: Record<string, string>) => {
        expect(rest).toEqual({});
        expect(Name).toMatch(/^[A-Za-z]{1,255}$/);
        expect(Unit).toMatch(UNITS);
        const value = line[Name as string];
        expect(Number.isFinite(value)).toBe(true);
        return { name: Name, value, unit: Unit, queue: line.JobQueue };
      });
    });
}
