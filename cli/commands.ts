import type { Command } from 'commander';

export interface CommandEntry {
  readonly name: string;
  /** What stands beside it in the help. */
  readonly summary: string;
  /** Adds the command to the program, with what it takes. What it does is imported only when it is carried out. */
  readonly define: (program: Command) => Promise<void>;
}

/** In the order of the help, by its headings. A command's module is read when it is named: the help of all is there at once. */
export const COMMANDS: Readonly<Record<string, readonly CommandEntry[]>> = {
  'Begin:': [
    {
      name: 'init',
      summary: 'put a job of your own into this folder: contracts, processors, a test and a CDK app',
      define: async (program) => (await import('./init.ts')).init(program),
    },
    {
      name: 'dev',
      summary: 'run the queue of this project here: Postgres, API, schedules, workers; an edit is live at once',
      define: async (program) => (await import('./dev.ts')).dev(program),
    },
    {
      name: 'work',
      summary: 'run the jobs of the queue in this process, until it is told to stop',
      define: async (program) => (await import('./work.ts')).work(program),
    },
  ],
  'Put in and look:': [
    {
      name: 'enqueue',
      summary: 'put a job in, and print its id',
      define: async (program) => (await import('./enqueue.ts')).enqueue(program),
    },
    {
      name: 'list',
      summary: 'jobs, the newest first',
      define: async (program) => (await import('./list.ts')).list(program),
    },
    {
      name: 'show',
      summary: 'everything of a job, with the error of each attempt',
      define: async (program) => (await import('./show.ts')).show(program),
    },
    {
      name: 'tail',
      summary: 'new jobs and what becomes of them, until Ctrl-C',
      define: async (program) => (await import('./tail.ts')).tail(program),
    },
    {
      name: 'stats',
      summary: 'how many jobs wait, run and died, by kind, and what keeps them waiting',
      define: async (program) => (await import('./stats.ts')).stats(program),
    },
    {
      name: 'schedules',
      summary: 'recurring jobs: when each fires next, and what became of the last time',
      define: async (program) => (await import('./schedules.ts')).schedules(program),
    },
  ],
  'Intervene:': [
    {
      name: 'cancel',
      summary: 'end pending jobs, and ask those that run to stop',
      define: async (program) => (await import('./cancel.ts')).cancel(program),
    },
    {
      name: 'redrive',
      summary: 'make dead jobs pending again, with all of their attempts',
      define: async (program) => (await import('./redrive.ts')).redrive(program),
    },
    {
      name: 'pause',
      summary: 'start no more jobs of a queue or a kind, or make no more of a schedule',
      define: async (program) => (await import('./pause.ts')).pause(program),
    },
    {
      name: 'resume',
      summary: 'go on with a paused queue, kind or schedule',
      define: async (program) => (await import('./pause.ts')).resume(program),
    },
    {
      name: 'fire',
      summary: 'make a job of a schedule now',
      define: async (program) => (await import('./fire.ts')).fire(program),
    },
    {
      name: 'erase',
      summary: 'take ended jobs out for good, with payload, result and errors',
      define: async (program) => (await import('./erase.ts')).erase(program),
    },
  ],
  'Run it:': [
    {
      name: 'token',
      summary: 'create, list and revoke the tokens that open the API',
      define: async (program) => (await import('./token.ts')).token(program),
    },
    {
      name: 'migrate',
      summary: 'bring the database to the schema of this version',
      define: async (program) => (await import('./migrate.ts')).migrate(program),
    },
    {
      name: 'doctor',
      summary: 'prove that a deployment works, from outside: API, tokens, workers, database',
      define: async (program) => (await import('./doctor.ts')).doctor(program),
    },
  ],
};
