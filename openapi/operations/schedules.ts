import type { Operation } from '../operations.ts';

export const scheduleOperations = {
  'GET /schedules': {
    id: 'listSchedules',
    tag: 'read',
    summary: 'List schedules',
    description: `All that workers have declared in the last 30 days, without payloads. They are declared in code, beside the contracts. One
whose \`declared_at\` is older than a run of its worker is no longer in the code that is deployed, or its worker is away.`,
    answers: [{ status: 200, description: 'They are these.', schema: 'Schedules', examples: ['some'] }],
    problems: ['invalid-query'],
    database: true,
  },
  'POST /schedules/{name}/pause': {
    id: 'pauseSchedule',
    tag: 'operate',
    summary: 'Pause a schedule',
    description: 'Its fire times pass without a job, and are not made up for. Doing it twice changes nothing.',
    answers: [{ status: 200, description: 'It is so now.', schema: 'PausedSchedule', examples: ['paused'] }],
    problems: ['invalid-name', 'no-such-schedule'],
    database: true,
  },
  'POST /schedules/{name}/resume': {
    id: 'resumeSchedule',
    tag: 'operate',
    summary: 'Resume a schedule',
    description: 'It fires again, from its next fire time on. Doing it twice changes nothing.',
    answers: [{ status: 200, description: 'It is so now.', schema: 'PausedSchedule', examples: ['resumed'] }],
    problems: ['invalid-name', 'no-such-schedule'],
    database: true,
  },
  'POST /schedules/{name}/fire': {
    id: 'fireSchedule',
    tag: 'operate',
    summary: 'Fire a schedule by hand',
    description: `Makes a job now, of the kind and payload that its worker last declared, also while it is paused. Its fire times stay as they
are. Sent again with the same \`X-Request-Id\` within ten minutes, it answers the job of the first time.`,
    answers: [
      {
        status: 201,
        description: 'The job is stored.',
        schema: 'Job',
        headers: ['Location'],
        examples: ['fired'],
      },
    ],
    problems: ['invalid-name', 'no-such-schedule', 'schedule-overlap'],
    database: true,
  },
} as const satisfies Record<string, Operation>;
