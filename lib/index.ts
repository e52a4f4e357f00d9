export type { BundlingProps, EsbuildProps } from './bundling-props.ts';
export type { JobQueueFunctions } from './functions.ts';
export {
  type ExistingDatabaseProps,
  JobDatabase,
  type NewInstanceProps,
  type SecretDatabaseProps,
} from './job-database.ts';
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
