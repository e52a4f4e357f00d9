/** What was asked for, by what it takes: to see status, to read payloads and statistics, to put jobs in, to intervene. */
export type Doing = 'see' | 'read' | 'enqueue' | 'act';
