/** Never loaded, and told to stop meanwhile. */
process.kill(process.pid, 'SIGTERM');
await new Promise((resolve) => setTimeout(resolve, 60_000));
export const contracts = {};
export const processors = {};
