import type { ListedJob, Status } from '../client/job.ts';
import { ago } from './ago.ts';
import type { Column } from './table.ts';
import { terminal } from './terminal.ts';

/** Of a listing: what a person looks for first. */
export const JOB_COLUMNS: readonly Column<ListedJob>[] = [
  { title: 'id', of: ({ id }) => id },
  { title: 'status', of: ({ status }) => status, paint: (text, { status }) => paintStatus(status, text) },
  { title: 'kind', of: ({ kind }) => kind, cuts: true },
  { title: 'subject', of: ({ subject }) => subject, cuts: true },
  { title: 'tries', of: ({ attempts, maxAttempts }) => `${attempts}/${maxAttempts}`, align: 'right', spare: 'at-last' },
  { title: 'created', of: ({ createdAt }) => createdAt, shown: ({ createdAt }) => ago(createdAt), spare: 'at-last' },
  { title: 'note', of: noteOf, cuts: true },
];

export function paintStatus(status: Status, text: string = status): string {
  const { red, green, cyan, yellow, gray } = terminal.paint;
  const paint = { pending: yellow, processing: cyan, completed: green, dead: red, cancelled: gray }[status];
  return paint(text);
}

/** What is to be said of it beyond its status: how far it is, when it is due, what it failed with last. */
export function noteOf({ status, progress, runAt, lastError, cancelRequestedAt }: ListedJob): string {
  const waits = status === 'pending' && Date.parse(runAt) > Date.now() + 1000;
  const words = [
    status === 'processing' && cancelRequestedAt !== null && 'asked to stop',
    status === 'processing' && progress && `${Math.round(progress.fraction * 100)}% ${progress.note ?? ''}`.trim(),
    waits && `due ${ago(runAt)}`,
    status !== 'completed' && lastError && `${lastError.name}: ${lastError.message}`,
  ];
  return words.filter((word) => typeof word === 'string').join(', ');
}
