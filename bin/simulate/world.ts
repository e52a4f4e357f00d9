import type { Database } from './database.ts';
import type { Events } from './events.ts';
import type { Jobs } from './jobs.ts';
import type { Lambda } from './lambda.ts';
import type { Profile } from './profile.ts';
import type { Slots } from './slots.ts';

/** What all parts of a simulation share. */
export interface World {
  readonly profile: Profile;
  readonly events: Events;
  readonly jobs: Jobs;
  readonly database: Database;
  /** The worker's function. */
  readonly workers: Lambda;
  readonly slots: Slots;
  readonly random: () => number;
}
