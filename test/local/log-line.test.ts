import { expect, test } from 'vitest';
import type { LocalFunction } from '../../local/function.ts';
import { isIdle, readableLine } from '../../local/log-line.ts';
import { reporter } from '../../local/reporter.ts';

const HEAD = '"timestamp":"2030","level":"info","function":"work","request_id":"r","slot":0';

test.each([
  ['plain text', 'plain text'],
  ['{ no JSON', '{ no JSON'],
  [
    `{${HEAD},"message":"job.completed","kind":"hello.greet","job_id":"0190","attempt":1,"duration_ms":3}`,
    'completed  hello.greet 0190  in 3 ms',
  ],
  [
    `{${HEAD},"message":"job.completed","kind":"k","job_id":"0190","attempt":2,"duration_ms":3}`,
    'completed  k 0190  in 3 ms, attempt 2',
  ],
  [
    `{${HEAD},"message":"job.retried","kind":"k","job_id":"0190","attempt":2,"error":{"name":"TypeError","message":"no"},"delay_seconds":1.25}`,
    'failed     k 0190  attempt 2: TypeError: no; again in 1.3 s',
  ],
  [
    `{${HEAD},"message":"job.retried","kind":"k","job_id":"0190","attempt":1,"error":{"name":"E","message":"no","at":"${process.cwd()}/jobs/k.ts:3:9"},"delay_seconds":2}`,
    'failed     k 0190  attempt 1: E: no; again in 2.0 s  at jobs/k.ts:3:9',
  ],
  [
    `{${HEAD},"message":"job.buried","kind":"k","job_id":"0190","attempt":1,"error":{"name":"E","message":"no","at":"/else/k.ts:3:9"}}`,
    'dead       k 0190  after attempt 1: E: no  at /else/k.ts:3:9',
  ],
  [
    `{${HEAD},"message":"job.buried","kind":"k","job_id":"0190","attempt":5,"error":{"name":"E","message":"no"}}`,
    'dead       k 0190  after attempt 5: E: no',
  ],
  [
    `{${HEAD},"message":"job.reaped","kind":"k","job_id":"0190","attempt":1,"status":"pending"}`,
    'reaped     k 0190  the lease of attempt 1 ran out; now pending',
  ],
  [
    `{${HEAD},"message":"Hello, Ada!","kind":"hello.greet","job_id":"0190","n":1,"gone":null}`,
    'Hello, Ada!  hello.greet 0190  n 1',
  ],
])('%s', (line, text) => {
  expect(readableLine(line)?.text).toBe(text);
});

test('metrics and empty lines give nothing, a long value is cut', () => {
  expect(readableLine('{"_aws":{"Timestamp":1},"claimed":3}')).toBeUndefined();
  expect(readableLine('')).toBeUndefined();
  expect(readableLine(JSON.stringify({ message: 'x'.repeat(1000) }))?.text).toHaveLength(300);
});

test.each([
  ['"message":"run ended","claimed":0,"reason":"relieved","duration_ms":60000', true],
  ['"message":"tick ended","rolled_up":7,"created":[],"postponed":false', true],
  ['"message":"tick ended","created":["p"]', false],
  ['"message":"run ended","claimed":1', false],
  ['"message":"anything else","claimed":0', false],
])('%s is idle: %s', (fields, idle) => {
  const line = readableLine(`{${HEAD},${fields}}`);
  expect(line && isIdle(line)).toBe(idle);
});

test('the terminal is quiet while nothing happens, and a burst of completed jobs is folded', async () => {
  const lines: string[] = [];
  const { functionLine } = reporter((line) => lines.push(line.slice(9)));
  const fn = { name: 'Work' } as LocalFunction;
  functionLine(fn, `{"level":"debug","message":"claim.made","claimed":0}`);
  functionLine(fn, `{${HEAD},"message":"run ended","claimed":0}`);
  expect(lines).toEqual([]);
  for (let n = 0; n < 25; n += 1)
    functionLine(
      fn,
      `{"level":"debug","message":"job.completed","kind":"k","job_id":"${n}","attempt":1,"duration_ms":1}`,
    );
  expect(lines).toHaveLength(10);
  expect(lines[0]).toBe('Work     completed  k 0  in 1 ms');
  await expect.poll(() => lines.at(-1), { timeout: 2000 }).toBe('Work     completed  15 more');
});

test('of several workers one sees who speaks, in columns, and a burst of all of them is folded', async () => {
  const lines: string[] = [];
  const { functionLine, ended } = reporter((line) => lines.push(line.slice(9)));
  const [work, reports] = [{ name: 'Work' }, { name: 'WorkReports' }] as LocalFunction[] as [
    LocalFunction,
    LocalFunction,
  ];
  const completed = (fn: LocalFunction, slot: number, id: number) =>
    functionLine(
      fn,
      `{"level":"debug","message":"job.completed","slot":${slot},"kind":"k","job_id":"${id}","attempt":1,"duration_ms":1}`,
    );
  completed(reports, 2, 0);
  completed(work, 0, 1);
  functionLine(work, '{"level":"info","message":"run ended","slot":3,"claimed":0,"reason":"emptied","duration_ms":9}');
  ended({ fn: work, event: { slot: 1 } }, { kind: 'timed out' }, { last: false });
  expect(lines).toEqual([
    'WorkReports/2 completed  k 0  in 1 ms',
    'Work          completed  k 1  in 1 ms',
    'Work/1        killed at its timeout of undefined s',
  ]);
  for (let n = 0; n < 30; n += 1) completed(n % 3 === 0 ? reports : work, n % 3, n);
  expect(lines).toHaveLength(11);
  await expect
    .poll(() => lines.slice(11).sort(), { timeout: 2000 })
    .toEqual(['Work/1        completed  7 more', 'Work/2        completed  8 more', 'WorkReports   completed  7 more']);
});

test('all that there is to see comes with the ids of its request', () => {
  const lines: string[] = [];
  const { functionLine } = reporter((line) => lines.push(line.slice(9)), { verbose: true });
  const fn = { name: 'Enqueue' } as LocalFunction;
  functionLine(
    fn,
    '{"level":"info","message":"request","route":"POST /jobs","request_id":"order-7","trace_id":"0af7"}',
  );
  functionLine(fn, '{"level":"debug","message":"claim.made","claimed":0}');
  expect(lines).toEqual([
    'Enqueue  request  route POST /jobs  request_id order-7  trace_id 0af7',
    'Enqueue  claim.made  claimed 0',
  ]);
});
