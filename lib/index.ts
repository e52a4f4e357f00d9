export type { BundlingProps, EsbuildProps } from './bundles/bundling-props.ts';
export {
  type ExistingDatabaseProps,
  JobDatabase,
  type NewInstanceProps,
  type SecretDatabaseProps,
} from './database/job-database.ts';
export type { JobQueueFunctions } from './functions/functions.ts';
export { JobQueue } from './job-queue.ts';
export type {
  AdvancedProps,
  Auth,
  DatabaseAuth,
  Egress,
  JobQueueProps,
  JwtAuth,
  Pickup,
  ThrottleProps,
  WorkerProps,
} from './job-queue-props.ts';
export { JobQueueStack, type JobQueueStackProps } from './job-queue-stack.ts';
