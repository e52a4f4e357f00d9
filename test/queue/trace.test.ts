import { expect, test } from 'vitest';
import { traceIdOf } from '../../functions/queue/trace.ts';

const trace = '4bf92f3577b34da6a3ce929d0e0e4736';

test.each([
  ['a traceparent', `00-${trace}-00f067aa0ba902b7-01`, trace],
  ['one of a version to come', `cc-${trace}-00f067aa0ba902b7-01-what-else`, trace],
  ['none', null, undefined],
  ['nothing', '', undefined],
  ['some other text', 'trace 7', undefined],
  ['an invalid version', `ff-${trace}-00f067aa0ba902b7-01`, undefined],
  ['a trace of zeros', `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`, undefined],
  ['a parent of zeros', `00-${trace}-${'0'.repeat(16)}-01`, undefined],
  ['capitals', `00-${trace.toUpperCase()}-00f067aa0ba902b7-01`, undefined],
  ['too long a trace', `00-${trace}a-00f067aa0ba902b7-01`, undefined],
  ['flags with a tail', `00-${trace}-00f067aa0ba902b7-011`, undefined],
])('the trace id of %s', (_, traceparent, id) => {
  expect(traceIdOf(traceparent)).toBe(id);
});
