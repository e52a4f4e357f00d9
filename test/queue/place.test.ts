import { expect, test } from 'vitest';
import { placeIn } from '../../functions/queue/place.ts';

test.each([
  ['    at send (/app/jobs/mail.ts:12:9)\n    at Object.work (/app/jobs/processors.ts:3:1)', '/app/jobs/mail.ts:12:9'],
  ['    at /app/jobs/mail.ts:12:9', '/app/jobs/mail.ts:12:9'],
  ['    at async send (file:///app/jobs/mail.ts:12:9)', '/app/jobs/mail.ts:12:9'],
  ['    at new Mail (/app/my jobs/mail.ts:12:9)', '/app/my jobs/mail.ts:12:9'],
  [
    '    at JSON.parse (<anonymous>)\n    at node:internal/x:1:2\n    at parse (/app/node_modules/x/i.js:1:2)\n    at run (/app/run.ts:7:1)',
    '/app/run.ts:7:1',
  ],
  ['    at parse (/app/node_modules/x/i.js:1:2)', undefined],
  ['nothing that is a frame', undefined],
  [undefined, undefined],
])('%j', (stack, place) => {
  expect(placeIn(stack)).toBe(place);
});
