import type { Database } from '../lambda/database.ts';
import { type HttpEvent, logOf } from '../lambda/http.ts';
import { wake } from '../lambda/wake.ts';

/** What operators make pending need not wait for the next tick. To be called after the commit. */
export function wakeWorkers(event: HttpEvent, db: Database, queues: readonly string[] | 'all'): Promise<void> {
  return wake(db, queues, logOf('manage', event));
}
