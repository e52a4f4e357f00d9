import { ProblemError } from '../lambda/problems.ts';

export function noSuchSchedule(name: string): ProblemError {
  return new ProblemError(
    'no-such-schedule',
    `No worker has declared a schedule ${name} in the last 30 days: look in the list of schedules for its name.`,
  );
}
