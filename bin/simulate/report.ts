import type { Percentiles, Result } from './result.ts';

/** The result in lines, the same jobs through SQS + Lambda beside it. */
export function reportOf({ jobs, workers, statements, database, dollars, sqs, ...result }: Result): string {
  const rows: [what: string, here: string, there: string][] = [
    [`${count(jobs.put)} jobs in ${duration(result.seconds)}`, 'millrace', 'SQS + Lambda'],
    ['completed', count(jobs.completed), count(sqs.completed)],
    ['enqueue to start, p50', seconds(result.pickupSeconds.p50), seconds(sqs.pickupSeconds.p50)],
    ['enqueue to start, p99', seconds(result.pickupSeconds.p99), seconds(sqs.pickupSeconds.p99)],
    ['enqueue to start, at most', seconds(result.pickupSeconds.most), seconds(sqs.pickupSeconds.most)],
    ['functions at once, at most', count(workers.most), count(sqs.most)],
    ['invocations', count(workers.invocations), count(sqs.invocations)],
    ['of these: cold starts', count(workers.cold), count(sqs.cold)],
    ['of these: throttled', count(workers.throttled), count(sqs.throttled)],
    ['GiB-seconds', count(workers.gibibyteSeconds), count(sqs.gibibyteSeconds)],
    ['$ a month', money(dollars.aMonth), money(sqs.dollars.aMonth)],
    ['$ a million jobs', money(dollars.aMillion), money(sqs.dollars.aMillion)],
  ];
  const width = Math.max(...rows.map(([what]) => what.length));
  const table = rows.map(([what, here, there]) => `${what.padEnd(width)}  ${here.padStart(12)}  ${there.padStart(12)}`);
  const endings = Object.entries(workers.endings).map(([how, times]) => `${count(times)} ${how}`);
  return [
    ...table,
    '',
    `jobs: ${count(jobs.retried)} retried, ${count(jobs.released)} released, ${count(jobs.reaped)} reaped, ${count(jobs.dead)} dead, ${count(jobs.unfinished)} unfinished at the end; enqueue to end ${spread(result.totalSeconds)}`,
    `runs: ${count(workers.ticks)} by ticks, ${count(workers.wakes)} by wakes; ${workers.mean.toFixed(2)} at a time on average; ${endings.join(', ')}`,
    `database: ${statements.aSecond.toFixed(1)} statements a second, ${statements.aJob.toFixed(2)} a job; ${database.cores.toFixed(3)} cores busy, ${database.busiestCores.toFixed(3)} in the busiest minute; ${count(database.connections)} connections of workers at most, ${count(database.connectionsWithTransactions)} if all use their transactions, ${count(database.refused)} refused`,
    `dollars: what Lambda and the schedules cost, the reaper included, beside the database. A million jobs that come in by HTTP add $${money(result.dollarsAMillionHttpRequests)}.`,
  ].join('\n');
}

function spread({ p50, p95, p99 }: Percentiles): string {
  return `p50 ${seconds(p50)}, p95 ${seconds(p95)}, p99 ${seconds(p99)}`;
}

export function count(number: number): string {
  return Math.round(number).toLocaleString('en');
}

/** `57 ms`, `4.2 s` */
export function seconds(time: number): string {
  if (Number.isNaN(time)) return '–';
  return time < 1 ? `${Math.round(time * 1000)} ms` : `${time.toFixed(time < 100 ? 1 : 0)} s`;
}

export function money(dollars: number): string {
  if (!Number.isFinite(dollars)) return '–';
  return dollars < 100 ? dollars.toFixed(2) : count(dollars);
}

function duration(time: number): string {
  if (time % 86_400 === 0) return time === 86_400 ? 'a day' : `${time / 86_400} days`;
  return time % 3600 === 0 ? `${time / 3600} h` : `${Math.round(time)} s`;
}
