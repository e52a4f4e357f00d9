/** Stack traces in the terms of the sources. Costs only where an error is thrown. */
export const NODE_OPTIONS = '--enable-source-maps';

/**
 * A worker's short-lived objects, a batch of jobs at a time, fit into a young generation of 2 MB: a busy worker takes 144 MB
 * instead of 228, at the same rate (20,000 to 40,000 no-op jobs, 10 at once, `node test/bench/worker.ts`).
 */
export const WORK_NODE_OPTIONS = `${NODE_OPTIONS} --max-semi-space-size=2`;
