export { JobQueue, type JobQueueProps } from './job-queue.ts';
export { JobQueueStack, type JobQueueStackProps } from './job-queue-stack.ts';
