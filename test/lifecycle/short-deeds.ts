/* The jobs of these tests as the modules that a worker's bundle is made around. */
import { deedJobs } from './deeds.ts';

export const { contracts, processors } = deedJobs({ timeoutSeconds: 1 });
